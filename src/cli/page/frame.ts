import { grouped } from '../inspect/figures.ts'
import { escapeHtml } from './html-text.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:#1b2733;--dim:#5b6b7b;--paper:#fbfbf9;--line:#d9dee3;--fill:#2f6f9f;--soft:#2f6f9f33;--whole:#8457b0;--alarm:#b3261e;--mark:#8a6100;--threshold:#a65a00;--part1:#1f5fc4;--part2:#1d8a66;--part3:#b7791f;--part4:#8a5cc2;--part5:#c0392b;--part6:#2a8fb0;--part7:#7a8b2c;--part8:#6b7280}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf0;--dim:#9fb0c0;--paper:#14191f;--line:#2c3742;--fill:#6fb3e0;--soft:#6fb3e033;--whole:#c4a1ea;--alarm:#ff8a80;--mark:#e9bb54;--threshold:#ffb066;--part1:#6ea5ff;--part2:#4cc79a;--part3:#e4b254;--part4:#bb96ea;--part5:#ff7d6e;--part6:#62c3e4;--part7:#b5c75a;--part8:#9aa3b0}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:24px;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:22px}h2{font-size:19px;margin-top:40px}h3{font-size:15px;margin:24px 0 6px}.dim{color:var(--dim)}.problem{color:var(--alarm)}
dl{margin:0}.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px 16px}.figures dt{color:var(--dim);font-size:13px}.figures dd{margin:0;font-size:17px}
.bars>div{display:grid;grid-template-columns:minmax(0,15em) 1fr;gap:0 12px;padding:2px 0}.bars dt{text-align:right}.bars dd{margin:0;display:flex;align-items:center;gap:8px;flex-wrap:wrap}
.bars i{background:var(--fill);height:14px;min-width:1px;max-width:55%}.bars span{color:var(--dim);font-size:13px}
figure{margin:0}.plot{position:relative;height:260px;margin:8px 0 0 44px;border-bottom:1px solid var(--line)}.plot svg{position:absolute;inset:0;width:100%;height:100%}
.plot path,.plot line{fill:none;stroke-width:2;vector-effect:non-scaling-stroke}.plot .grid{stroke:var(--line);stroke-width:1}.plot .area{fill:var(--soft);stroke:var(--fill)}
.plot .whole{stroke:var(--whole);stroke-dasharray:6 4}.plot .window{stroke:var(--alarm)}.plot .high,.plot .low{stroke:var(--threshold)}.plot .high{stroke-dasharray:6 4}.plot .low{stroke-dasharray:2 4}.plot .mark{stroke:var(--mark);stroke-dasharray:3 3}
.tick{position:absolute;right:100%;margin-right:6px;transform:translateY(50%);font-size:12px;color:var(--dim);white-space:nowrap}
.axis{display:flex;justify-content:space-between;margin-left:44px;font-size:12px;color:var(--dim)}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px}.legend i{display:inline-block;width:18px;border-top:3px solid;margin-right:6px;vertical-align:middle}
.legend .area{border-color:var(--fill)}.legend .whole{border-color:var(--whole);border-top-style:dashed}.legend .window{border-color:var(--alarm)}.legend .high,.legend .low{border-color:var(--threshold)}.legend .high{border-top-style:dashed}.legend .low{border-top-style:dotted}.legend .mark{border-color:var(--mark);border-top-style:dotted}
.legend .box{width:11px;height:11px;border:0;background:var(--part)}.plot path[class^=part]{fill:var(--part);stroke:none}.part1{--part:var(--part1)}.part2{--part:var(--part2)}.part3{--part:var(--part3)}.part4{--part:var(--part4)}.part5{--part:var(--part5)}.part6{--part:var(--part6)}.part7{--part:var(--part7)}.part8{--part:var(--part8)}
table{border-collapse:collapse;width:100%}td,th{padding:3px 8px;border-bottom:1px solid var(--line);text-align:left}
td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
pre{white-space:pre-wrap;background:var(--soft);padding:12px;border-radius:6px;max-height:32em;overflow:auto;font-size:13px}
@media(max-width:600px){body{padding:14px}.bars>div{grid-template-columns:1fr}.bars dt{text-align:left}.plot{height:200px}
tr:first-child{display:none}tr{display:block;border-bottom:1px solid var(--line);padding:6px 0}td,td.n{display:flex;justify-content:space-between;gap:16px;border:0;padding:1px 0;white-space:normal;text-align:right}
td::before{content:attr(data-name);color:var(--dim);white-space:nowrap}}
`.trim()

/** One file that needs nothing else: styles and charts inside, no script, no network. */
export const pageOf = (title: string, heading: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(heading)}</h1>
${body}
</body>
</html>
`

/** A part with its heading; nothing where there is nothing to show. */
export const part = (title: string, content: string): string =>
  content === '' ? '' : `<h3>${escapeHtml(title)}</h3>\n${content}`

/** Figures stand under right-aligned heads. On a narrow screen each row becomes a list, in which every cell says what it is. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  if (rows.length === 0) return ''
  const head = heads.map(
    (text, column) => `<th${typeof rows[0]?.[column] === 'number' ? ' class="n"' : ''}>${escapeHtml(text)}</th>`,
  )
  const cell = (value: string | number, column: number): string => {
    const name = `data-name="${escapeHtml(heads[column] ?? '')}"`
    return typeof value === 'number'
      ? `<td class="n" ${name}>${grouped(value)}</td>`
      : `<td ${name}>${escapeHtml(value)}</td>`
  }
  const lines = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`)
  return `<table><tr>${head.join('')}</tr>${lines.join('')}</table>`
}

export const figures = (rows: readonly (readonly [name: string, value: string])[]): string =>
  `<dl class="figures">${rows.map(([name, value]) => `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`).join('')}</dl>`

/** Bars of the largest on top, each with its name and what it comes to. */
export function bars(
  rows: readonly { readonly name: string; readonly value: number; readonly label: string }[],
): string {
  const most = Math.max(...rows.map(({ value }) => value), 1)
  const row = ({ name, value, label }: (typeof rows)[number]): string =>
    `<div><dt>${escapeHtml(name)}</dt><dd><i style="width:${((55 * value) / most).toFixed(1)}%"></i><span>${escapeHtml(label)}</span></dd></div>`
  return rows.length === 0 ? '' : `<dl class="bars">${rows.map(row).join('')}</dl>`
}
