"""What the grammars of the C family call the things that we call symbols."""

from __future__ import annotations

C = """
(function_definition declarator: (_) @declarator body: (_) @body) @function
(declaration declarator: (_) @declarator) @variable
(field_declaration declarator: (_) @declarator) @field
(struct_specifier name: (_) @name body: (_) @body) @struct
(union_specifier name: (_) @name body: (_) @body) @union
(enum_specifier name: (_) @name body: (_) @body) @enum
(enumerator name: (_) @name) @constant
(type_definition declarator: (_) @declarator) @type
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name value: (_)? @body) @macro
(preproc_include path: (_)) @import
"""
CPP = (
    C
    + """
(function_definition declarator: (_) @declarator (default_method_clause)) @function
(function_definition declarator: (_) @declarator (delete_method_clause)) @function
(function_definition declarator: (_) @declarator (try_statement) @body) @function
(class_specifier name: (_) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @namespace
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(using_declaration) @import
"""
)
CUDA = CPP
