import { setTimeout as pause } from 'node:timers/promises'
import { Command, InvalidArgumentError } from 'commander'
import type { PlimsollEvent } from '../../core/events.ts'
import { handlesIn } from '../../core/handles.ts'
import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import { DEMO_FORMAT, DEMO_WIRE } from '../../formats/registry.ts'
import { startReferee, type RunningReferee } from '../../testing/referee/index.ts'
import { startProxy } from '../../gateway/proxy.ts'
import { tenantOf } from '../../gateway/identity.ts'
import type { LogRecord } from '../../core/records.ts'
import { figuresOf, type SessionFigures } from '../../meter/session/figures.ts'
import { foldLog } from '../../meter/session/log.ts'
import { estimateFor, priceOf } from '../catalogue.ts'
import { pictureOf, writePicture } from '../reports/session-view.ts'
import { costText, marked, savedText, tokensText, withoutCost } from '../../meter/session/words.ts'
import { runAgent, scriptOf, toolOutput } from '../demo.ts'
import { columnChart, dollars, grouped, percent, plural, wrap } from '../kit/figures.ts'
import { painterOf, screenOf, type Painter } from '../kit/output.ts'
import { tokenCount, oneOrMore } from '../option-values.ts'

interface DemoFlags {
  readonly turns: number
  readonly window: number
  readonly fast?: boolean
  readonly json?: boolean
  readonly png?: string
}

export function demoCommand(): Command {
  return new Command('demo')
    .option('--turns <n>', 'number of model calls', oneOrMore, 60)
    .option('--window <tokens>', 'window that the demo upstream enforces, from 4k on', demoWindow, 32_000)
    .option('--fast', 'do not pause between turns')
    .option('--png <file>', 'write a picture of the session; a name that ends in .svg gets SVG')
    .option('--json', 'one JSON line per turn and one for the result')
    .action(runDemo)
}

/** In a smaller window, the demo's instructions and tools leave no room for its history. */
const LEAST_WINDOW = 4_000

function demoWindow(text: string): number {
  const window = tokenCount(text)
  if (window < LEAST_WINDOW) throw new InvalidArgumentError('It should be at least 4k: the demo needs that much room.')
  return window
}

/** The least duration of a turn on a terminal, so that the demo can be watched. Sixty turns take two seconds. */
const LEAST_TURN_MS = 33

async function runDemo(flags: DemoFlags): Promise<void> {
  const { turns, window, json = false } = flags
  const screen = screenOf(process.stdout)
  const paint = painterOf(screen)
  const show = (text: string, line: object): void =>
    void process.stdout.write(json ? `${JSON.stringify(line)}\n` : `${text}\n`)
  const watched = process.stdout.isTTY && flags.fast !== true && !json

  const secret = Buffer.from('the demo keeps nothing')
  const referee = await startReferee({
    wire: DEMO_FORMAT,
    window,
    script: scriptOf(turns),
    cache: { minimumTokens: 1 },
  })
  const events: PlimsollEvent[] = []
  const plimsoll = createPlimsoll({ store: 'memory:', secret, window, onEvent: (event) => events.push(event) })
  const proxy = await startProxy(plimsoll.gateway, { port: 0, upstreams: { [DEMO_WIRE.endpoint.name]: referee.url } })
  if (!json) process.stdout.write(`${introduction(paint, proxy.url, referee.url, turns, window)}\n`)

  const sent: number[] = []
  let limit = window
  let firstTooLarge: number | undefined
  let wholeTokens = 0
  /** What the client sent, by the same count as on the page. */
  let history = 0
  let turnBegan = performance.now()
  try {
    for await (const turn of runAgent(`${proxy.url}/${DEMO_WIRE.endpoint.name}`)) {
      const load = Number(turn.headers.get('x-plimsoll-load'))
      limit = Number(turn.headers.get('x-plimsoll-limit'))
      wholeTokens = referee.countTokens(JSON.parse(turn.body))
      // The provider's count: our own is an upper bound, and far above it right after a compaction.
      const sentTokens = referee.log.at(-1)?.inputTokens ?? load
      for (const event of events.splice(0)) {
        if (event.type === 'usage-recorded') history = event.usage.input + (event.removed ?? 0)
        const line = eventLine(paint, event, { before: sent.at(-1) ?? 0, after: sentTokens })
        if (line !== undefined) show(line, event)
      }
      sent.push(sentTokens)
      show(
        `${String(turn.number).padStart(4)} ${loadBar(paint, sentTokens, limit)} ${grouped(sentTokens).padStart(6)} sent, history ${grouped(history).padStart(7)}  ${paint('dim', turn.tool ?? 'answer')}`,
        { turn: turn.number, sent: sentTokens, load, limit, transcript: history, tool: turn.tool ?? null },
      )
      if (wholeTokens + 1_024 > window && firstTooLarge === undefined) {
        firstTooLarge = turn.number
        show(
          paint(
            'red',
            `     ↑ without Plimsoll the agent ends here: "prompt is too long: ${grouped(wholeTokens)} tokens > ${grouped(window)} maximum"`,
          ),
          { firstTooLarge },
        )
      }
      if (turn.tool === undefined && !json) process.stdout.write(`\n  ${paint('bold', turn.text)}\n`)
      if (watched) await pause(Math.max(0, LEAST_TURN_MS - (performance.now() - turnBegan)))
      turnBegan = performance.now()
    }
    const tenant = tenantOf(secret, (name) => DEMO_WIRE.endpoint.headers('demo')[name])
    const bodies = referee.log.map((exchange) => Buffer.from(exchange.raw).toString())
    const restored = await readBack(plimsoll, tenant, bodies, turns)
    // What the last answer wrote is in the log then.
    await proxy.close()
    const { session } = plimsoll.ledger.sessions(tenant)[0]!
    const records: LogRecord[] = []
    for await (const record of plimsoll.archive.read(session, { tenant })) records.push(record)
    const log = foldLog(records)
    const figures = figuresOf(log)
    const countText = (text: string): number => estimateFor(DEMO_WIRE.endpoint.model, text)
    if (flags.png !== undefined) await writePicture(flags.png, pictureOf(log, { countText, priceOf }))
    const summary = { ...referee.summary(), figures, ...restored }
    const chart = columnChart(sent, { width: screen.width, height: 6, line: limit })
    show(
      [
        '',
        ...chart,
        '',
        ...linesOf(paint, summary).flatMap((line) => wrap(line, screen.width - 2).map((part) => `  ${part}`)),
      ].join('\n'),
      resultOf(summary),
    )
  } finally {
    await proxy.close()
    await plimsoll.close()
    await referee.close()
  }
}

type Summary = ReturnType<RunningReferee['summary']> & {
  readonly figures: SessionFigures
  readonly artifacts: number
  readonly identical: number
}

function linesOf(paint: Painter, { figures, overflows, invalid, artifacts, identical }: Summary): readonly string[] {
  const { calls, peak, limit, withoutPlimsoll, compactions, usage } = figures
  const without = withoutCost(figures)
  const instead = without === undefined ? '' : ` instead of ${marked(without, dollars(without.value))}`
  return [
    `${plural(calls, 'call')}, ${plural(overflows, 'overflow')}, ${plural(invalid, 'invalid request')}; largest prompt ${tokensText(peak)} of ${grouped(limit)} tokens, without Plimsoll ${tokensText(withoutPlimsoll)}`,
    `${costText(figures)}${instead}: ${savedText(figures)} saved; ${plural(compactions, 'compaction')}; ${percent(usage.cacheRead, usage.input)} of all prompt tokens came from the cache`,
    `${plural(artifacts, 'large output')} stored outside the window; read back: ${identical} of ${artifacts} byte-identical`,
    '',
    `Put it in front of your own agent: ${paint('bold', 'npx plimsoll proxy')}`,
  ]
}

function resultOf({ figures, overflows, invalid, artifacts, identical }: Summary): object {
  const { calls, peak, window, withoutPlimsoll, compactions, usage } = figures
  const cachedPercent = Math.round((100 * usage.cacheRead) / Math.max(1, usage.input))
  const shown = { calls, overflows, invalid, peakInputTokens: peak.value, window, transcript: withoutPlimsoll.value }
  return { ...shown, epochs: compactions, cachedPercent, artifacts, identical, figures }
}

/** Opens every handle that the model was shown and compares the bytes with the tool outputs and earlier requests. */
async function readBack(
  plimsoll: Plimsoll,
  tenant: string,
  sent: readonly string[],
  turns: number,
): Promise<{ artifacts: number; identical: number }> {
  const outputs = new Set(Array.from({ length: turns }, (_, step) => toolOutput(step)))
  const handles = new Set(sent.flatMap(handlesIn))
  let identical = 0
  for (const handle of handles) {
    const bytes = await plimsoll.artifacts.read(handle, { tenant })
    const text = bytes === undefined ? undefined : Buffer.from(bytes).toString()
    if (text === undefined) continue
    const inRequest = JSON.stringify(text).slice(1, -1)
    if (outputs.has(text) || sent.some((body) => body.includes(inRequest))) identical++
  }
  return { artifacts: handles.size, identical }
}

function introduction(paint: Painter, proxy: string, upstream: string, turns: number, window: number): string {
  const way = `agent → ${proxy} (proxy) → ${upstream} (scripted provider that rejects what the real one rejects)`
  const title = `Plimsoll: ${turns} turns of an incident in a window of ${grouped(window)} tokens`
  return `${paint('bold', title)}\n${paint('dim', way)}\n`
}

function eventLine(
  paint: Painter,
  event: PlimsollEvent,
  sent: { readonly before: number; readonly after: number },
): string | undefined {
  const said = (text: string): string => paint('yellow', `     ▼ ${text}`)
  if (event.type === 'epoch-declared')
    return said(`compaction: ${grouped(sent.before)} → ${grouped(sent.after)} tokens; what left can be read back`)
  if (event.type !== 'item-offloaded') return undefined
  const { originalBytes, shownBytes, handle } = event
  return said(`${grouped(originalBytes)} bytes shown as ${grouped(shownBytes)}; the rest is ${handle}`)
}

const BAR = 30

/** One request's load against its limit: the bar is full when the load is at the limit. */
function loadBar(paint: Painter, load: number, limit: number): string {
  const share = Math.min(1, load / limit)
  const filled = Math.round(share * BAR)
  const style = share > 0.95 ? 'red' : share > 0.8 ? 'yellow' : 'green'
  return `${paint(style, '█'.repeat(filled))}${paint('dim', '·'.repeat(BAR - filled))}${paint('cyan', '┃')}`
}
