"""How the page of supervision looks."""

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --paper: #fff; --ground: #eceae6; --line: #ccc;
  --head: #14427a;
  --free: #d5e8d4; --forced: #f2c38b; --takeover: #e79a92; --handoff: #c9b6e4; --cooldown: #b9d4ee;
  --signal: #8a5a00; --hint: #4b52b5; --block: #9a6700; --led: #b3261e; --back: #6b3fa0; --stop: #b3261e;
  --done: #1a7f37; --current: #1f5fbf; --failed: #b3261e; --skipped: #6e6e6e; --pending: #767676;
  --done-fill: #e3f5e7; --current-fill: #dfeafb; --failed-fill: #fde0dc; --skipped-fill: #eee; --pending-fill: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --soft: #a5a5a5; --paper: #1e1f22; --ground: #131416;
  --line: #44474d;
  --head: #8db8ee; --free: #2d4f36; --forced: #7a4c12; --takeover: #83332c; --handoff: #55407c; --cooldown: #274a6d;
  --signal: #e0ac4e; --hint: #a3a9f5; --block: #e6b24c; --led: #f28b82; --back: #c6a5f0; --stop: #f28b82;
  --done: #6fcf87; --current: #86b4f5; --failed: #f28b82; --skipped: #9a9a9a; --pending: #9a9a9a;
  --done-fill: #1b3322; --current-fill: #1a2c47; --failed-fill: #451f1c; --skipped-fill: #2a2b2e; --pending-fill: #1e1f22;
  } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 Helvetica, Arial, sans-serif; color: var(--ink); background: var(--ground); }
header, section { background: var(--paper); border: 1px solid var(--line); padding: .8rem 1.2rem; margin: .6rem; }
h1 { font-size: 1.2rem; margin: 0; color: var(--head); } h2 { font-size: 1rem; margin: 0 0 .5rem; color: var(--head); }
p { margin: .2rem 0; } .soft { color: var(--soft); font-size: .85rem; } .warning { color: var(--failed); }
.skip a { position: absolute; left: -99rem; color: var(--head); }
.skip a:focus { left: 1rem; top: .3rem; background: var(--paper); padding: .3rem; z-index: 9; }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 3px solid var(--current); }
.lanes { display: flex; } .lanes .wide { flex: 1 1 auto; min-width: 0; } .lanes > svg { flex: none; }
svg { display: block; font: 12px Helvetica, Arial, sans-serif; } svg text { fill: var(--ink); }
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
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid var(--line);
overflow-wrap: anywhere; }
th { color: var(--soft); white-space: nowrap; } td:nth-child(-n+4) { white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { width: 70%; }
.kind { font-weight: bold; } .kind-signal { color: var(--signal); } .kind-hint { color: var(--hint); }
.kind-block { color: var(--block); }
.kind-takeover, .kind-stop, .kind-fault, .kind-failure { color: var(--led); } .kind-handoff { color: var(--back); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; } dt { color: var(--soft); }
dd { margin: 0; }
@media print { .wide { overflow: visible; } section { break-inside: avoid-page; } }
"""
