"""Tree-sitter queries for symbols, one per language.

A capture is named after the kind of symbol that its node is. Other captures: `name` (the node of the name), `declarator` (the
C family wraps names), `body` (where the signature ends), `receiver` (the type of a method), `scope` (an enclosing scope
without a symbol).
"""

from __future__ import annotations

from typing import NamedTuple


class Grammar(NamedTuple):
    """A grammar and what is asked of it."""

    words: str
    """Name of the language for messages."""
    package: str
    """The module that has the grammar; its distribution has the same name with hyphens."""
    query: str
    entry: str = "language"


_JAVA = """
(class_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(annotation_type_declaration name: (_) @name body: (_) @body) @interface
(enum_declaration name: (_) @name body: (_) @body) @enum
(enum_constant name: (_) @name) @constant
(method_declaration name: (_) @name body: (_)? @body) @method
(constructor_declaration name: (_) @name body: (_) @body) @method
(compact_constructor_declaration name: (_) @name body: (_) @body) @method
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(constant_declaration declarator: (variable_declarator name: (_) @name)) @constant
"""
_SCRIPT = """
(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class
(variable_declarator name: (_) @name value: (class body: (_) @body)) @class
(method_definition name: (_) @name body: (_) @body) @method
(variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @function
(variable_declarator name: (identifier) @name value: (function_expression body: (_) @body)) @function
(variable_declarator name: (identifier) @name value: (generator_function body: (_) @body)) @function
(variable_declarator name: (identifier) @name) @variable
(assignment_expression left: (member_expression object: (_) @receiver property: (_) @name)
  right: (arrow_function body: (_) @body)) @function
(assignment_expression left: (member_expression object: (_) @receiver property: (_) @name)
  right: (function_expression body: (_) @body)) @function
(assignment_expression left: (member_expression object: (_) @receiver property: (_) @name)
  right: (class body: (_) @body)) @class
(assignment_expression left: (identifier) @name right: (function_expression body: (_) @body)) @function
(pair key: (property_identifier) @name value: (arrow_function body: (_) @body)) @function
(pair key: (property_identifier) @name value: (function_expression body: (_) @body)) @function
"""
_JAVASCRIPT = """
(field_definition property: (_) @name) @field
"""
_TYPESCRIPT = """
(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name body: (_) @body) @enum
(enum_body name: (_) @name @constant)
(enum_assignment name: (_) @name) @constant
(internal_module name: (_) @name body: (_) @body) @namespace
(module name: (_) @name body: (_) @body) @namespace
(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(property_signature name: (_) @name) @field
(public_field_definition name: (_) @name value: (arrow_function body: (_) @body)) @method
(public_field_definition name: (_) @name) @field
"""
_GO = """
(function_declaration name: (_) @name body: (_)? @body) @function
(method_declaration receiver: (_) @receiver name: (_) @name body: (_)? @body) @method
(type_spec name: (_) @name type: (struct_type (field_declaration_list) @body)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(const_spec name: (identifier) @name) @constant
(var_spec name: (identifier) @name) @variable
(field_declaration name: (_) @name) @field
(method_elem name: (_) @name) @method
"""
_RUST = """
(function_item name: (_) @name body: (_) @body) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name body: (_)? @body) @struct
(union_item name: (_) @name body: (_) @body) @union
(enum_item name: (_) @name body: (_) @body) @enum
(enum_variant name: (_) @name) @constant
(trait_item name: (_) @name body: (_) @body) @trait
(impl_item type: (_) @name body: (_) @body) @scope
(mod_item name: (_) @name body: (_) @body) @module
(macro_definition name: (_) @name) @macro
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @variable
(type_item name: (_) @name) @type
(field_declaration name: (_) @name) @field
"""
_JULIA = """
(module_definition name: (_) @name) @module
(function_definition (signature) @name) @function
(macro_definition (signature) @name) @macro
(assignment . (call_expression) @name) @function
(assignment . (where_expression . (call_expression)) @name) @function
(assignment . (where_expression . (typed_expression . (call_expression))) @name) @function
(assignment . (typed_expression . (call_expression)) @name) @function
(assignment . (identifier) @name (arrow_function_expression)) @function
(struct_definition (type_head) @name) @struct
(struct_definition [
  (typed_expression . (identifier) @name) (identifier) @name
  (assignment . (identifier) @name) (assignment . (typed_expression . (identifier) @name))
] @field)
(abstract_definition (type_head) @name) @type
(primitive_definition (type_head) @name) @type
(const_statement (assignment . (identifier) @name)) @constant
(source_file (assignment . (identifier) @name) @variable)
(module_definition (assignment . (identifier) @name) @variable)
"""
_PYTHON = """
(function_definition name: (_) @name body: (_) @body) @function
(class_definition name: (_) @name body: (_) @body) @class
(module (expression_statement (assignment left: (identifier) @name)) @variable)
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @variable)))
"""

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
"""
)
CUDA = CPP
GRAMMARS = {
    "c": Grammar("C", "tree_sitter_c", C),
    "cpp": Grammar("C++", "tree_sitter_cpp", CPP),
    "cuda": Grammar("CUDA", "tree_sitter_cuda", CUDA),
    "java": Grammar("Java", "tree_sitter_java", _JAVA),
    "javascript": Grammar("JavaScript", "tree_sitter_javascript", _SCRIPT + _JAVASCRIPT),
    "typescript": Grammar("TypeScript", "tree_sitter_typescript", _SCRIPT + _TYPESCRIPT, "language_typescript"),
    "tsx": Grammar("TypeScript", "tree_sitter_typescript", _SCRIPT + _TYPESCRIPT, "language_tsx"),
    "go": Grammar("Go", "tree_sitter_go", _GO),
    "rust": Grammar("Rust", "tree_sitter_rust", _RUST),
    "julia": Grammar("Julia", "tree_sitter_julia", _JULIA),
    "python": Grammar("damaged or old Python", "tree_sitter_python", _PYTHON),
}
