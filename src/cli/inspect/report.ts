import type { PriceModel } from '../../core/price.ts'
import { inspect, type Inspection } from '../../lab/inspect/inspect.ts'
import type { SavingOptions } from '../../lab/inspect/savings.ts'
import type { InspectOptions, InspectSource } from '../../lab/inspect/source.ts'
import { renderHtml } from './html.ts'
import { renderTerminal, type TerminalOptions } from './terminal.ts'

export interface InspectReportOptions
  extends Omit<InspectOptions, 'window' | 'countText' | 'price'>, SavingOptions, TerminalOptions {
  /** @default 'terminal' */
  readonly as?: 'terminal' | 'html' | 'json'
  /** Counts as the recording's model does. */
  readonly countText: (text: string, model: string | undefined) => number
  /** One window for all, or by model. */
  readonly window?: number | ((model: string | undefined) => number | undefined)
  /** List prices by model. */
  readonly price?: (model: string | undefined) => PriceModel | undefined
}

/** Inspects recordings and writes the report. JSON is an array with one object per recording. */
export function inspectReport(recordings: readonly InspectSource[], options: InspectReportOptions): string {
  const inspections = recordings.map((recording) => inspectOne(recording, options))
  if (options.as === 'json') return `${JSON.stringify(inspections, null, 2)}\n`
  if (options.as === 'html') return renderHtml(inspections)
  return renderTerminal(inspections, options)
}

function inspectOne(recording: InspectSource, options: InspectReportOptions): Inspection {
  const { window: rule, price: priceOf, countText, ...rest } = options
  const window = typeof rule === 'function' ? rule(recording.model) : rule
  const price = priceOf?.(recording.model)
  return inspect(recording, {
    ...rest,
    countText: (text) => countText(text, recording.model),
    ...(window !== undefined && { window }),
    ...(price !== undefined && { price }),
  })
}
