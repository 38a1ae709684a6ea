import type { Scenario } from '../../src/lab/simulator/scenarios.ts'

/** What may differ between the versions of the design. */
export interface ReferenceRules {
  /** @default 2.5 */
  readonly factor?: number
  /** A window of exactly 200,000 has the fixed buffer. @default true */
  readonly fixedFrom200k?: boolean
}

export interface ReferenceRun {
  readonly steps: number
  readonly compactions: number
  readonly overflows: number
  readonly peakReal: number
}

const quarter = (length: number): number => Math.floor(length / 4)
/** The mock summarizer's sentence in its wrapper; the continuation stands only in the request that was compacted. */
const SUMMARY = 50
const CONTINUATION = 46

/** The design in plain arithmetic, without engine, wire or text: an independent second opinion on the table. */
export function referenceRun(scenario: Scenario, rules: ReferenceRules = {}): ReferenceRun {
  const { factor = 2.5, fixedFrom200k = true } = rules
  const { window, ratio, turns, usage } = scenario
  const large = fixedFrom200k ? window >= 200_000 : window > 200_000
  const threshold = window - (large ? 20_000 : Math.floor(window * 0.2))
  const base = quarter(scenario.system) + (scenario.tools?.tokens ?? 0)
  let history = 0
  let real = 0
  let last = 0
  const run = { steps: 0, compactions: 0, overflows: 0, peakReal: 0 }
  const step = (reports: boolean): void => {
    run.steps++
    let heuristic = base + history
    const correction = real > 0 && last > 0 ? Math.min(5, Math.max(1, real / last)) : factor
    if (Math.max(real, Math.floor(heuristic * correction)) >= threshold) {
      run.compactions++
      history = SUMMARY
      heuristic = base + history + CONTINUATION
      real = 0
    }
    last = heuristic
    const counted = Math.floor(heuristic * ratio)
    run.peakReal = Math.max(run.peakReal, counted)
    if (counted > window) run.overflows++
    if (reports) real = counted
  }
  for (let index = 0; index < turns; index++) {
    const turn = scenario.turn(index)
    const reports = typeof usage === 'number' ? index >= usage : usage
    history += quarter(turn.user)
    for (const { mime, bytes } of turn.media ?? []) history += quarter(mime.length) + quarter(bytes)
    step(reports)
    const pair = (size: number, at: number): number =>
      2 * quarter(scenario.toolName((turn.firstTool ?? 0) + at).length) + 2 + quarter(size + 12)
    if (turn.parallel !== undefined) {
      history += turn.parallel.reduce((sum, size, at) => sum + pair(size, at), 0)
      step(reports)
    }
    for (const [at, size] of (turn.sequential ?? []).entries()) {
      history += pair(size, at)
      step(reports)
    }
    history += quarter(`Turn ${index} analysis: `.length + (turn.reply ?? 120))
  }
  return run
}
