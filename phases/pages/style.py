"""How the pages look: the one stylesheet. What all of them share stands first, then what each has of its own."""

_SHARED = """
:root { --ink: #222; --soft: #666; --paper: #fff; --ground: #eceae6; --line: #ccc; --head: #14427a; --sans: Helvetica, Arial,
  sans-serif; --mono: "DejaVu Sans Mono", Menlo, Consolas, monospace; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--ground); }
.skip a { position: absolute; left: -99rem; color: var(--head); }
.skip a:focus { left: 1rem; top: .3rem; background: var(--paper); padding: .3rem; z-index: 9; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; overflow-wrap: anywhere; }
"""
_PAPER = (
    _SHARED
    + """
:root { color-scheme: light; }
body { font: 15px/1.5 Georgia, serif; }
header { padding: .7rem 1.2rem; background: var(--paper); border-bottom: 1px solid var(--line); }
h1, h2, h3, h4, h5, h6 { font-family: var(--sans); line-height: 1.25; color: var(--head); margin: 1.1em 0 .3em; }
header h1 { font-size: 1.2rem; margin: 0 0 .2rem; }
blockquote { margin: .8em 0; padding-left: .8em; border-left: 3px solid #c9a227; color: #555; }
code, pre { font: 13px/1.45 var(--mono); }
"""
)
PREVIEW = (
    _PAPER
    + """
.page { display: grid; grid-template-columns: minmax(20rem, 44vw) 1fr; gap: 1.5rem; padding: 1rem 1.2rem; }
.page img, .page .none { width: 100%; border: 1px solid #bbb; background: var(--paper); position: sticky; top: 1rem; }
.page .text img { width: auto; max-width: 100%; position: static; display: block; margin: 1rem 0 .3rem; border: 0; }
.text { background: var(--paper); padding: 1rem 1.5rem; border: 1px solid #ddd; overflow-x: auto; min-width: 0; }
pre, .equation { background: #f4f4f8; padding: .5em .8em; overflow-x: auto; } .equation { font: 13px/1.45 var(--mono); }
td { border: 1px solid var(--line); padding: .15em .5em; }
.note { font-size: .85rem; color: var(--soft); } .hidden { color: #a00; }
@media (max-width: 60rem) { .page { grid-template-columns: 1fr; } }
"""
)
TRACE = (
    _PAPER
    + """
:root { --implemented: #1a7f37; --stubbed: #9a6700; --missing: #b3261e; --test: #4b52b5; }
th, .badge, .tag, .counts, .pagemark { font-family: var(--sans); line-height: 1.25; }
h2 { font-size: 1rem; margin: 0 0 .6rem; color: var(--soft); } h3, h4, h5, h6 { font-size: 1rem; }
.counts { margin: 0; font-size: .85rem; }
.pane { background: var(--paper); padding: .8rem 1.2rem; border: 1px solid var(--line); min-width: 0;
  scroll-padding: 4rem 0 6rem; }
.pane:focus-visible, a:focus-visible { outline: 3px solid #2f6fd0; outline-offset: -2px; }
a { color: var(--head); }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; }
thead th { position: sticky; top: -.8rem; background: #f4f4f8; z-index: 1; }
th[scope=row], td:nth-child(2), td:nth-child(3) { white-space: nowrap; }
td:nth-child(4) { width: 38%; } td:nth-child(5) { width: 20%; } td:nth-child(6) { width: 26%; }
q { color: #555; font-style: italic; } small { color: var(--soft); } .note { margin: .3em 0 0; color: var(--missing); }
td code { font-size: 12px; } summary { cursor: pointer; color: var(--soft); }
.badge { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; color: var(--paper); background: var(--soft);
  font-size: .75rem; font-weight: bold; }
.badge:is(.implemented, .executed, .tested, .guarded) { background: var(--implemented); }
.badge:is(.stubbed, .named, .differs) { background: var(--stubbed); }
.badge.missing { background: var(--missing); }
.tag { padding: 0 .35em; margin: 0 .2em 0 .3em; border-radius: .25em; border: 1px solid currentColor; font-size: 11px;
  font-weight: bold; text-decoration: none; background: var(--paper); user-select: none; }
.tag:is(.implemented, .executed, .tested, .guarded) { color: var(--implemented); }
.tag:is(.stubbed, .named, .differs) { color: var(--stubbed); }
.tag.missing { color: var(--missing); }
.tag.test { color: var(--test); } .tag:hover { text-decoration: underline; }
mark { background: #eee; color: inherit; padding: .1em 0; border-bottom: 2px solid #999; }
mark:is(.implemented, .executed, .tested, .guarded) { background: #d8f3df; border-color: var(--implemented); }
mark:is(.stubbed, .named, .differs) { background: #fff1c2; border-color: var(--stubbed); }
mark.missing { background: #fde0dc; border-color: var(--missing); }
.line:target { outline-offset: -3px; }
:target, :target + mark { outline: 3px solid #2f6fd0; outline-offset: 1px; } tr:target { background: #e6effb; }
.pagemark { color: #888; font-size: .75rem; border-top: 1px dashed var(--line); margin: 1.2em 0 .4em; text-align: right; }
#paper p, #paper blockquote { overflow-wrap: anywhere; }
#paper pre { background: #f4f4f8; padding: .5em .8em; overflow-x: auto; }
.file pre { margin: 0; overflow-x: auto; background: #fafafa; border: 1px solid #ddd; counter-reset: line; padding: .3em 0; }
.file h3 { margin-top: 1.2em; font-family: var(--mono); font-size: .9rem; }
.line { display: block; counter-increment: line; padding-right: 1em; border-left: 4px solid transparent; min-height: 1.45em; }
.line::before { content: counter(line); display: inline-block; width: 3.2em; margin-right: 1em; text-align: right;
  color: #999; }
.line:is(.implemented, .executed, .tested, .guarded) { background: #eefaf1; border-color: var(--implemented); }
.line:is(.stubbed, .named, .differs) { background: #fff8e1; border-color: var(--stubbed); }
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
)
RESULTS = (
    _PAPER
    + """
main { padding: 1rem 1.2rem; max-width: 70rem; margin: 0 auto; }
.pane { background: var(--paper); padding: .8rem 1.2rem; border: 1px solid var(--line); margin-bottom: 1rem; overflow-x: auto; }
.counts { margin: 0; } h2 { font-size: 1.05rem; margin: 0 0 .6rem; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid #ddd; font-family: var(--sans); }
.n { text-align: right; white-space: nowrap; }
svg { width: 100%; max-width: 48rem; display: block; margin-bottom: .8rem; font: 11px var(--sans); } .head { font-weight: bold; }
.badge { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; color: var(--paper); background: var(--soft);
  font-size: .75rem; font-weight: bold; white-space: nowrap; }
.badge.reproduced { background: #1a7f37; } .badge.near { background: #9a6700; }
.badge:is(.differs, .suspect) { background: #b3261e; }
.note { font-size: .85rem; color: var(--soft); }
"""
)
SUPERVISION = (
    _SHARED
    + """
:root { color-scheme: light dark; --free: #d5e8d4; --forced: #f2c38b; --takeover: #e79a92; --handoff: #c9b6e4;
  --cooldown: #b9d4ee; --signal: #8a5a00; --hint: #4b52b5; --block: #9a6700; --led: #b3261e; --back: #6b3fa0; --stop: #b3261e;
  --done: #1a7f37; --current: #1f5fbf; --failed: #b3261e; --skipped: #6e6e6e; --pending: #767676;
  --done-fill: #e3f5e7; --current-fill: #dfeafb; --failed-fill: #fde0dc; --skipped-fill: #eee; --pending-fill: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --soft: #a5a5a5; --paper: #1e1f22; --ground: #131416;
  --line: #44474d;
  --head: #8db8ee; --free: #2d4f36; --forced: #7a4c12; --takeover: #83332c; --handoff: #55407c; --cooldown: #274a6d;
  --signal: #e0ac4e; --hint: #a3a9f5; --block: #e6b24c; --led: #f28b82; --back: #c6a5f0; --stop: #f28b82;
  --done: #6fcf87; --current: #86b4f5; --failed: #f28b82; --skipped: #9a9a9a; --pending: #9a9a9a;
  --done-fill: #1b3322; --current-fill: #1a2c47; --failed-fill: #451f1c; --skipped-fill: #2a2b2e; --pending-fill: #1e1f22;
  } }
body { font: 15px/1.5 var(--sans); }
header, section { background: var(--paper); border: 1px solid var(--line); padding: .8rem 1.2rem; margin: .6rem; }
h1 { font-size: 1.2rem; margin: 0; color: var(--head); } h2 { font-size: 1rem; margin: 0 0 .5rem; color: var(--head); }
p { margin: .2rem 0; } .soft { color: var(--soft); font-size: .85rem; } .warning { color: var(--failed); }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 3px solid var(--current); }
.lanes { display: flex; } .lanes .wide { flex: 1 1 auto; min-width: 0; } .lanes > svg { flex: none; }
svg { display: block; font: 12px var(--sans); } svg text { fill: var(--ink); }
svg text.soft { fill: var(--soft); font-size: 11px; } svg text.lane { font-weight: bold; }
.grid { stroke: var(--line); stroke-width: 1; } .axis { stroke: var(--soft); stroke-width: 1; }
.band { fill: var(--ground); opacity: .6; }
.span { stroke: var(--paper); stroke-width: 1; }
.free { fill: var(--free); } .forced { fill: var(--forced); } .takeover { fill: var(--takeover); }
.handoff_pending { fill: var(--handoff); } .cooldown { fill: var(--cooldown); }
.signal { fill: var(--signal); } .hint { fill: var(--hint); } .block { fill: var(--block); } .led { fill: var(--led); }
.back { fill: var(--back); } .stop { stroke: var(--stop); stroke-width: 2.5; fill: none; }
.stop-line { stroke-dasharray: 5 3; stroke-width: 1.5; }
.box { stroke-width: 1.5; } .box.current { stroke-width: 3; }
.box.done { fill: var(--done-fill); stroke: var(--done); }
.box.current, .box.running { fill: var(--current-fill); stroke: var(--current); }
.box.failed { fill: var(--failed-fill); stroke: var(--failed); }
.box.skipped { fill: var(--skipped-fill); stroke: var(--skipped); }
.box.pending { fill: var(--pending-fill); stroke: var(--pending); }
svg text.done { fill: var(--done); } svg text.current, svg text.running { fill: var(--current); }
svg text.failed { fill: var(--failed); }
svg text.skipped { fill: var(--skipped); } svg text.pending { fill: var(--pending); }
svg text.mark { font-size: 15px; font-weight: bold; }
.edge { fill: none; stroke: var(--soft); stroke-width: 1.5; } .edge.fallback { stroke-dasharray: 5 4; }
.tip { fill: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .6rem 0 0; padding: 0; list-style: none;
font-size: .85rem; }
.legend li { display: flex; align-items: center; gap: .35rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); white-space: nowrap; } td:nth-child(-n+4) { white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { width: 70%; }
.kind { font-weight: bold; } .kind-signal { color: var(--signal); } .kind-hint { color: var(--hint); }
.kind-block { color: var(--block); }
.kind-takeover, .kind-stop, .kind-fault, .kind-failure { color: var(--led); } .kind-handoff { color: var(--back); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; } dt { color: var(--soft); }
dd { margin: 0; }
@media print { .wide { overflow: visible; } section { break-inside: avoid-page; } }
"""
)
REVIEW = (
    _SHARED
    + """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5d6570; --paper: #fff; --ground: #f6f6f4; --line: #dfe1e4;
  --accent: #0b5cad; --tint: rgba(11, 92, 173, .12); --small: .8rem; --large: 1.25rem; --huge: 1.75rem; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6e9; --soft: #9aa3ad; --paper: #1c1f23; --ground: #131518;
  --line: #32373d; --accent: #7db7f0; --tint: rgba(125, 183, 240, .18); } img { filter: brightness(.88); } }
html { scroll-padding-top: 1rem; }
body { font: 1rem/1.5 var(--sans); }
header, .columns { max-width: 120rem; margin: 0 auto; padding: 0 clamp(1rem, 3vw, 3rem); }
.wide table { max-width: 76rem; }
header { padding-top: 2rem; padding-bottom: 1rem; }
h1 { font-size: var(--huge); line-height: 1.2; margin: 0 0 .75rem; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: var(--large); line-height: 1.25; margin: 0 0 .75rem; } h3 { font-size: 1rem; margin: 1.25rem 0 .5rem; }
p { margin: 0 0 .5rem; } ul, ol { margin: 0; padding-left: 1.25rem; } a { color: var(--accent); text-underline-offset: .15em; }
.kicker { color: var(--accent); font-size: var(--small); font-weight: bold; margin: 0 0 .25rem; }
.lead { max-width: 46rem; overflow-wrap: anywhere; } .soft, .soft a { color: var(--soft); font-size: var(--small); }
code, .formula { font: var(--small)/1.5 var(--mono); overflow-wrap: anywhere; }
.formula { display: block; margin: .4rem 0 0; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: var(--small); }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
main > section { padding: 1.5rem 0; border-top: 1px solid var(--line); }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); font-size: var(--small); }
details img { max-width: 100%; margin-top: .5rem; }
.wide { overflow-x: auto; } table { font-size: var(--small); line-height: 1.45; min-width: 34rem; }
th, td { padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); } td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-weight: normal; white-space: nowrap; }
tbody th { font-weight: normal; white-space: nowrap; width: 3rem; }
.number { font-variant-numeric: tabular-nums; font-weight: bold; } .place { white-space: nowrap; }
.components td:nth-child(2) { width: 20%; } .files code { white-space: nowrap; }
.files td:nth-child(3) { min-width: 14rem; } .components td:nth-child(4) { width: 16%; }
.components p, .components ol { margin: .3rem 0 0; } .commands code { white-space: nowrap; }
.id { font-variant-numeric: tabular-nums; text-decoration: none; font-weight: bold; } .id:hover { text-decoration: underline; }
.doubts, .changes { list-style: none; padding: 0; max-width: 60rem; }
.doubts > li { border-left: 3px solid var(--accent); padding: .1rem 0 .1rem 1rem; margin: 0 0 .9rem; overflow-wrap: anywhere; }
.doubts p { margin: 0; } .doubts ul { list-style: none; padding: 0; font-size: var(--small); color: var(--soft); }
.changes li { display: grid; grid-template-columns: 5rem 1fr; font-size: var(--small); padding: .2rem 0; }
.changes b { color: var(--accent); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .35rem 1.25rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.sheet { margin: 0 0 2rem; } .sheet summary { color: var(--soft); cursor: pointer; font-size: var(--small); }
details.sheet { margin-bottom: .75rem; } details figure { max-width: 44rem; margin-top: .75rem; }
.pair { display: grid; gap: 1.5rem; }
figure { position: relative; margin: 0; container-type: inline-size; align-self: start; }
figure img { display: block; width: 100%; height: auto; border: 1px solid var(--line); background: #fff; }
.mark { position: absolute; background: rgba(11, 92, 173, .16); mix-blend-mode: multiply; }
.mark.again { background: none; }
.mark:hover, .mark:target { outline: 2px solid #0b5cad; outline-offset: 2px; }
.tags { position: absolute; display: flex; gap: 0 .35em; flex-wrap: wrap; max-width: 11%; font-size: clamp(7px, 1.45cqw, 13px);
  line-height: 1.15; } .tags.left { left: .4%; } .tags.right { right: .4%; justify-content: flex-end; }
.tags .id { color: #0b5cad; background: #fff; }
.rows { display: grid; gap: 0; align-content: start; }
.rows > article { padding: .6rem .75rem; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.rows > article:first-child { border-top: 0; } .rows p { margin: 0; } .row + .row { margin-top: .5rem; }
.head { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; }
.row:target, tr:target { background: var(--tint); }
q { display: block; color: var(--soft); font-size: var(--small); margin-top: .2rem; }
.lost { color: var(--accent); font-size: var(--small); } .targets :is(ul, ol) { font-size: var(--small); }
.targets ul { list-style: none; padding: 0; }
.text { background: var(--paper); border: 1px solid var(--line); padding: 1rem 1.25rem; max-height: 90vh; overflow: auto; }
.text pre { font: var(--small)/1.5 var(--mono); overflow-x: auto; } mark { background: var(--tint); color: inherit; }
.tag { font-size: var(--small); font-weight: bold; text-decoration: none; margin-right: .3em; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (min-width: 62rem) {
  .pair { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
  .pair > figure, .pair > .text { position: sticky; top: 1rem; }
}
@media (min-width: 84rem) {
  .columns { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 2rem; }
  nav { position: sticky; top: 1.5rem; align-self: start; } nav ul { flex-direction: column; padding-top: 1.5rem; }
}
@media print { nav { display: none; } .pair > figure { position: relative; } .sheet { break-inside: avoid-page; } }
"""
)
