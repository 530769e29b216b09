"""How the page of the trace looks."""

STYLE = """
:root { color-scheme: light; --implemented: #1a7f37; --stubbed: #9a6700; --missing: #b3261e; --test: #4b52b5; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 Georgia, serif; color: #222; background: #eceae6; }
header { padding: .7rem 1.2rem; background: #fff; border-bottom: 1px solid #ccc; }
h1, h2, h3, h4, h5, h6, th, .badge, .tag, .counts, .pagemark { font-family: Helvetica, Arial, sans-serif; line-height: 1.25; }
h1 { font-size: 1.2rem; margin: 0 0 .2rem; color: #14427a; } h2 { font-size: 1rem; margin: 0 0 .6rem; color: #666; }
h3, h4, h5, h6 { color: #14427a; margin: 1.1em 0 .3em; font-size: 1rem; } .counts { margin: 0; font-size: .85rem; }
.skip a { position: absolute; left: -99rem; }
.skip a:focus { left: 1rem; top: .3rem; background: #fff; padding: .3rem; z-index: 9; }
.pane { background: #fff; padding: .8rem 1.2rem; border: 1px solid #ccc; min-width: 0; scroll-padding: 4rem 0 6rem; }
.pane:focus-visible, a:focus-visible { outline: 3px solid #2f6fd0; outline-offset: -2px; }
a { color: #14427a; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd;
  overflow-wrap: anywhere; }
thead th { position: sticky; top: -.8rem; background: #f4f4f8; z-index: 1; }
th[scope=row], td:nth-child(2), td:nth-child(3) { white-space: nowrap; }
td:nth-child(4) { width: 38%; } td:nth-child(5) { width: 20%; } td:nth-child(6) { width: 26%; }
q { color: #555; font-style: italic; } small { color: #666; } .note { margin: .3em 0 0; color: var(--missing); }
code, pre { font: 13px/1.45 "DejaVu Sans Mono", Menlo, Consolas, monospace; }
td code { font-size: 12px; } summary { cursor: pointer; color: #666; }
.badge { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; color: #fff; background: #666;
  font-size: .75rem; font-weight: bold; }
.badge.implemented { background: var(--implemented); } .badge.stubbed { background: var(--stubbed); }
.badge.missing { background: var(--missing); }
.tag { padding: 0 .35em; margin: 0 .2em 0 .3em; border-radius: .25em; border: 1px solid currentColor; font-size: 11px;
  font-weight: bold;
  text-decoration: none; background: #fff; user-select: none; }
.tag.implemented { color: var(--implemented); } .tag.stubbed { color: var(--stubbed); }
.tag.missing { color: var(--missing); }
.tag.test { color: var(--test); } .tag:hover { text-decoration: underline; }
mark { background: #eee; color: inherit; padding: .1em 0; border-bottom: 2px solid #999; }
mark.implemented { background: #d8f3df; border-color: var(--implemented); }
mark.stubbed { background: #fff1c2; border-color: var(--stubbed); }
mark.missing { background: #fde0dc; border-color: var(--missing); }
.line:target { outline-offset: -3px; }
:target, :target + mark { outline: 3px solid #2f6fd0; outline-offset: 1px; } tr:target { background: #e6effb; }
.pagemark { color: #888; font-size: .75rem; border-top: 1px dashed #ccc; margin: 1.2em 0 .4em; text-align: right; }
#paper p, #paper blockquote { overflow-wrap: anywhere; }
blockquote { margin: .8em 0; padding-left: .8em; border-left: 3px solid #c9a227; color: #555; }
#paper pre { background: #f4f4f8; padding: .5em .8em; overflow-x: auto; }
.file pre { margin: 0; overflow-x: auto; background: #fafafa; border: 1px solid #ddd; counter-reset: line; padding: .3em 0; }
.file h3 { margin-top: 1.2em; font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9rem; }
.line { display: block; counter-increment: line; padding-right: 1em; border-left: 4px solid transparent; min-height: 1.45em; }
.line::before { content: counter(line); display: inline-block; width: 3.2em; margin-right: 1em; text-align: right;
  color: #999; }
.line.implemented { background: #eefaf1; border-color: var(--implemented); }
.line.stubbed { background: #fff8e1; border-color: var(--stubbed); }
.line.test { background: #f0f0fb; border-color: var(--test); }
@media (min-width: 60rem) and (min-height: 34rem) {
  body { height: 100vh; display: flex; flex-direction: column; }
  #requirements { flex: 0 1 auto; max-height: 36vh; overflow: auto; border-width: 0 0 1px; }
  main { flex: 1; min-height: 0; display: grid; grid-template-columns: 1fr 1fr; gap: .6rem; padding: .6rem; }
  main .pane { overflow: auto; }
  .demand { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
  tr:target .demand, tr:hover .demand, tr:focus-within .demand { display: block; }
}
@media (max-width: 60rem) {
  #requirements { overflow-x: auto; } table { min-width: 46rem; }
  .pane { padding: .6rem; border-width: 0 0 1px; }
}
@media print { body { height: auto; display: block; } .pane { max-height: none !important; overflow: visible !important; } }
"""
