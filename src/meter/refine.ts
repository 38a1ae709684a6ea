import { type Count, exactly } from '../core/count.ts'

/** Anything with a count to sharpen. */
export interface Counted {
  readonly count: Count
}

export interface RefineOptions<M extends Counted> {
  /** Measures again; called after an exact tokenizer was loaded. */
  readonly measure: () => M
  /** The number that a decision hangs on. */
  readonly threshold: number
  /** Loads the exact tokenizer; false when there is none. */
  readonly loadTokenizer?: () => Promise<boolean>
  /** The provider's own count of this request. Given only when the caller allows the call. */
  readonly askProvider?: () => Promise<number | undefined>
}

/** True when the interval does not say on which side of the threshold the load is. */
export const straddles = ({ count }: Counted, threshold: number): boolean =>
  count.low <= threshold && threshold < count.high

/** Sharpens a measurement only where it decides something: exact tokenizer first, then the provider. Failures leave it as it is. */
export async function refine<M extends Counted>(options: RefineOptions<M>): Promise<M> {
  const { measure, threshold, loadTokenizer, askProvider } = options
  let measured = measure()
  if (!straddles(measured, threshold)) return measured
  if (await attempt(loadTokenizer)) measured = measure()
  if (!straddles(measured, threshold)) return measured
  const told = await attempt(askProvider)
  return told === undefined || !(told > 0) ? measured : { ...measured, count: exactly(told, 'provider') }
}

async function attempt<T>(step: (() => Promise<T>) | undefined): Promise<T | undefined> {
  try {
    return await step?.()
  } catch {
    // A refinement is a luxury: the upper bound still decides safely.
    return undefined
  }
}
