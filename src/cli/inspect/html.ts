import type { Inspection } from '../../lab/inspect/inspect.ts'
import { overviewOf } from '../../lab/inspect/overview.ts'
import { bars, figures, pageOf, part, table } from '../page/frame.ts'
import { escapeHtml } from '../page/html-text.ts'
import { compositionChart } from '../page/composition-chart.ts'
import { loadChart } from '../page/load-chart.ts'
import { dollars, grouped, percent, plural, short } from './figures.ts'
import { plainText } from './width.ts'
import { itemName, peakOf, savingName, shownSlices, sliceName, summaryOf, titleOf, usageOf } from './wording.ts'

export function renderHtml(inspections: readonly Inspection[]): string {
  const overview = inspections.length > 1 ? renderOverview(inspections) : ''
  const body = [overview, ...inspections.map(renderOne)].join('\n')
  const title = inspections.length === 1 ? titleOf(inspections[0] as Inspection) : plural(inspections.length, 'session')
  return pageOf(`Plimsoll inspect: ${title}`, 'Where the tokens went', body)
}

function renderOverview(inspections: readonly Inspection[]): string {
  const overview = overviewOf(inspections)
  const rows = inspections.map((inspection) => [
    inspection.sentTokens,
    inspection.calls,
    inspection.growth.peak,
    inspection.costUsd === undefined ? '' : dollars(inspection.costUsd),
    titleOf(inspection),
  ])
  return `<section>
<h2>All sessions</h2>
<p class="dim">${plural(overview.sessions, 'session')} · ${plural(overview.calls, 'call')}${overview.costUsd === undefined ? '' : ` · ${dollars(overview.costUsd)} at list prices`}</p>
${part('By kind', slices(overview))}
${part('By session', table(['sent tokens', 'calls', 'peak', 'cost', 'session'], rows))}
${part('What would be saved', savings(overview))}
</section>`
}

function renderOne(inspection: Inspection): string {
  const said = [peakOf(inspection), usageOf(inspection)].filter((text) => text !== undefined)
  return `<section>
<h2>${escapeHtml(titleOf(inspection))}</h2>
<p class="dim">${escapeHtml(summaryOf(inspection))}</p>
${headline(inspection)}
<p>${said.map(escapeHtml).join(' ')}</p>
${part('Load per call', growth(inspection))}
${part('What the prompts are made of', composition(inspection))}
${part('By kind', slices(inspection))}
${part('Largest items', biggest(inspection))}
${part('Read again', readAgain(inspection))}
${part('The same result again', duplicates(inspection))}
${part('What would be saved', savings(inspection))}
${part('Problems', problems(inspection))}
</section>`
}

function headline({
  calls,
  growth: { peak, compactedBefore },
  window,
  sentTokens,
  usage,
  costUsd,
}: Inspection): string {
  return figures([
    ['calls', grouped(calls)],
    ['largest prompt', window === undefined ? grouped(peak) : `${grouped(peak)} of ${grouped(window)}`],
    ['compactions', grouped(compactedBefore.length)],
    ['tokens sent', short(sentTokens)],
    ...(usage === undefined ? [] : [['from the cache', percent(usage.cacheRead, usage.input)] as const]),
    ...(costUsd === undefined ? [] : [['cost at list prices', dollars(costUsd)] as const]),
  ])
}

const growth = ({ growth: { points, peak, peakCall, compactedBefore }, window }: Inspection): string =>
  loadChart({
    sent: points.map(({ load, reported = load }) => reported),
    ...(window !== undefined && { line: { name: 'window', value: window } }),
    marks: compactedBefore,
    label: `Load per call: peak ${grouped(peak)} tokens at call ${peakCall + 1}`,
  })

const composition = ({ composition: layers, calls }: Inspection): string =>
  compositionChart(
    Array.from({ length: calls }, (_, call) => ({
      parts: Object.fromEntries(layers.map((layer) => [layerName(layer), layer.tokens[call] ?? 0])),
    })),
  )

/** Results of the smaller tools stand together. */
const layerName = (layer: Inspection['composition'][number]): string =>
  layer.kind === 'results' && layer.tool === undefined ? 'results: other tools' : sliceName(layer)

/** Where the tokens went. */
function slices(inspection: Pick<Inspection, 'slices' | 'sentTokens'>): string {
  const { sentTokens } = inspection
  return bars(
    shownSlices(inspection)
      .filter((slice) => slice.sentTokens > 0)
      .map((slice) => ({
        name: sliceName(slice),
        value: slice.sentTokens,
        label: `${short(slice.sentTokens)} sent · ${percent(slice.sentTokens, sentTokens)} · ${short(slice.tokens)} once in ${grouped(slice.items)}`,
      })),
  )
}

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
