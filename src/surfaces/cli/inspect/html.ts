import type { Inspection } from '../../../engine/inspect/inspect.ts'
import { overviewOf } from '../../../engine/inspect/overview.ts'
import { grouped, percent, plural } from './figures.ts'
import { escapeHtml } from './html-text.ts'
import { growthSvg, slicesSvg } from './svg.ts'
import { plainText } from './width.ts'
import { itemName, peakOf, savingName, summaryOf, titleOf, usageOf } from './wording.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:#1b2733;--dim:#5b6b7b;--paper:#fbfbf9;--line:#d9dee3;--fill:#2f6f9f;--soft:#2f6f9f55;--alarm:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6ebf0;--dim:#9fb0c0;--paper:#14191f;--line:#2c3742;--fill:#6fb3e0;--soft:#6fb3e055;--alarm:#ff8a80}}
*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:24px;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:22px}h2{font-size:19px;overflow-wrap:anywhere;margin-top:40px}h3{font-size:15px;margin:24px 0 6px}.dim{color:var(--dim)}
svg{width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}.grid{stroke:var(--line)}.area{fill:var(--soft);stroke:var(--fill)}
.mark{stroke:var(--dim);stroke-dasharray:3 3}.window{stroke:var(--alarm);stroke-dasharray:6 4}.window-label{fill:var(--alarm);text-anchor:end}
.tick,.name{text-anchor:end;dominant-baseline:middle}.name{dominant-baseline:auto}.end{text-anchor:end}.bar{fill:var(--fill)}.value,.axis{fill:var(--dim)}
table{border-collapse:collapse;width:100%}td,th{padding:3px 8px;border-bottom:1px solid var(--line);text-align:left;overflow-wrap:anywhere}
td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.problem{color:var(--alarm)}
`.trim()

/** One file that needs nothing else: styles and charts inside, no script, no network. */
export function renderHtml(inspections: readonly Inspection[]): string {
  const overview = inspections.length > 1 ? renderOverview(inspections) : ''
  const body = [overview, ...inspections.map(renderOne)].join('\n')
  const title = inspections.length === 1 ? titleOf(inspections[0] as Inspection) : plural(inspections.length, 'session')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Plimsoll inspect: ${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Where the tokens went</h1>
${body}
</body>
</html>
`
}

function renderOverview(inspections: readonly Inspection[]): string {
  const overview = overviewOf(inspections)
  const rows = inspections.map((inspection) => [
    inspection.sentTokens,
    inspection.calls,
    inspection.growth.peak,
    titleOf(inspection),
  ])
  return `<section>
<h2>All sessions</h2>
<p class="dim">${plural(overview.sessions, 'session')} · ${plural(overview.calls, 'call')}</p>
${part('By kind', slicesSvg(overview))}
${part('By session', table(['sent tokens', 'calls', 'peak', 'session'], rows))}
${part('What would be saved', savings(overview))}
</section>`
}

function renderOne(inspection: Inspection): string {
  const usage = usageOf(inspection)
  return `<section>
<h2>${escapeHtml(titleOf(inspection))}</h2>
<p class="dim">${escapeHtml(summaryOf(inspection))}</p>
<p>${escapeHtml(peakOf(inspection))}${usage === undefined ? '' : ` ${escapeHtml(usage)}`}</p>
${part('By kind', slicesSvg(inspection))}
${part('Load per call', growthSvg(inspection))}
${part('Largest items', biggest(inspection))}
${part('Read again', readAgain(inspection))}
${part('The same result again', duplicates(inspection))}
${part('What would be saved', savings(inspection))}
${part('Problems', problems(inspection))}
</section>`
}

const part = (title: string, content: string): string => (content === '' ? '' : `<h3>${title}</h3>\n${content}`)

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  if (rows.length === 0) return ''
  // Figures stand under right-aligned heads.
  const head = heads.map(
    (text, column) => `<th${typeof rows[0]?.[column] === 'number' ? ' class="n"' : ''}>${text}</th>`,
  )
  const lines = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`)
  return `<table><tr>${head.join('')}</tr>${lines.join('')}</table>`
}

const cell = (value: string | number): string =>
  typeof value === 'number' ? `<td class="n">${grouped(value)}</td>` : `<td>${escapeHtml(value)}</td>`

const biggest = ({ biggest: items }: Inspection): string =>
  table(
    ['tokens', 'times sent', 'sent tokens', 'item', 'line'],
    items.map((item) => {
      const { what, target } = itemName(item)
      return [item.tokens, item.timesSent, item.sentTokens, `${what} ${target}`.trim(), item.line]
    }),
  )

function readAgain({ repeats }: Inspection): string {
  const rows = repeats.readAgain.map(({ path, reads, tokens, sentTokens }) => [
    reads,
    tokens,
    sentTokens,
    plainText(path),
  ])
  const share = repeats.repeatedLineShare
  const note =
    share >= 0.01
      ? `<p class="dim">${percent(share, 1)} of the lines in results had stood in an earlier result.</p>`
      : ''
  return table(['reads', 'repeated tokens', 'sent tokens', 'file'], rows) + note
}

const duplicates = ({ repeats }: Inspection): string =>
  table(
    ['copies', 'repeated tokens', 'sent tokens', 'result'],
    repeats.duplicates.map(({ tool, target, copies, tokens, sentTokens }) => [
      copies,
      tokens,
      sentTokens,
      plainText(`${tool ?? 'unknown tool'} ${target ?? ''}`.trim()),
    ]),
  )

const savings = (inspection: Pick<Inspection, 'savings' | 'sentTokens'>): string =>
  table(
    ['tokens not sent', 'share', 'items', 'how'],
    inspection.savings.map((saving) => [
      saving.sentTokens,
      percent(saving.sentTokens, inspection.sentTokens),
      saving.items,
      savingName(saving),
    ]),
  )

const problems = ({ problems: all }: Inspection): string =>
  all.length === 0
    ? ''
    : `<ul class="problem">${all.map(({ line, message }) => `<li>line ${line}: ${escapeHtml(plainText(message))}</li>`).join('')}</ul>`
