import type { EventBody } from '../../core/events.ts'
import type { EstimatorRule, GuardRule } from '../../core/policy.ts'
import type { Epoch } from '../../core/records.ts'
import type { DesignArithmetic, Meter } from '../../meter/index.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import type { PresentOptions } from '../deps.ts'
import type { ShowReport } from '../intake/index.ts'
import type { PrepareContext, View } from '../prepare/context.ts'

/** What a design brings beside its policy. A policy names it where it wants its guard or its arithmetic. */
export interface Design {
  readonly name: string
  /** Whether a result may not pass as it is, where the rule's limits alone do not say it. */
  readonly stops?: (rule: GuardRule, text: string) => boolean
  /** What it shows of a result that is large by one of the rule's limits; undefined: it has no view of its own. */
  readonly guard?: (rule: GuardRule, text: string, options: PresentOptions) => DesignView | undefined
  /** Its own estimate of a request. */
  readonly meter: (base: Meter, rule: EstimatorRule, options: EstimateOptions) => DesignMeter
  /** The words of its own log; people who ran it search for them. */
  readonly log?: DesignLog
}

/** What a design shows of a large result, and what its own metadata say about that. */
export interface DesignView {
  readonly text: string
  readonly metadata?: Partial<ShowReport>
}

export interface DesignMeter extends Meter {
  readonly design: DesignArithmetic
}

export interface EstimateOptions {
  readonly tokenizerOf: (id: string) => Tokenizer
  readonly onEvent: (event: EventBody) => void
}

export interface DesignLog {
  /** After an epoch. */
  readonly reduced?: (context: PrepareContext, reduction: Reduction) => readonly EventBody[]
  /** When it is known what will leave; `asked` is the request as it came in, under everything that stood. */
  readonly decided?: (context: PrepareContext, asked: View, verdict: string) => readonly EventBody[]
}

export interface Reduction {
  readonly before: View
  readonly after: View
  readonly epoch: Epoch
}
