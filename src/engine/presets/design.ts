import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import type { Item } from '../../core/item.ts'
import type { CascadeStep, EstimatorRule, GuardRule, OwnStep, Policy, WaterRule } from '../../core/policy.ts'
import type { Epoch } from '../../core/records.ts'
import type { Limit } from '../../core/target.ts'
import type { DesignArithmetic, Meter } from '../../meter/index.ts'
import type { Tokenizer } from '../../ports/tokenizer.ts'
import type { PresentOptions } from '../deps.ts'
import type { Draft, PlannedSoFar, Proposal } from '../epoch/cascade/draft.ts'
import type { ShowReport } from '../intake/index.ts'
import type { PrepareContext, View } from '../prepare/context.ts'

/**
 * What a preset does in ways of its own, beside the numbers of its policy. The engine asks for a part by what it means and goes its usual way where
 * the part is missing.
 */
export interface Design {
  readonly name: string
  /** Its own estimate of a request: it says when to reduce, in the place of our upper bound. */
  readonly meter?: (base: Meter, rule: EstimatorRule, options: EstimateOptions) => DesignMeter
  /** The load at which reduction starts, in tokens. @default the share `water.high` of the limit */
  readonly highWater?: (limit: Limit, water: WaterRule, cacheIsWarm: boolean) => number
  /** A load of exactly that starts it, too. @default only more */
  readonly startsAtHighWater?: boolean
  /** A request that would be refused is compacted, however many before it were: what this design writes shrinks to the room that there is. @default false */
  readonly compactsInARow?: boolean
  /** The load that a reduction aims at. @default the share `water.low` */
  readonly lowWater?: (limit: Limit, water: WaterRule) => number
  /** Reduction also starts from this many messages on, however small they are. */
  readonly messages?: { readonly most: number; readonly count: (items: readonly Item[]) => number }
  /** Steps of its cascade that are its own. */
  readonly steps?: { readonly [S in OwnStep as S['step']]?: OwnStepFunction<S> }
  /** Whether a result may not pass as it is, where the numbers of `intake.guard` alone do not say it. */
  readonly stops?: (text: string) => boolean
  /** What it shows of a result that is large by one of these numbers. */
  readonly guard?: (rule: GuardRule, text: string, options: PresentOptions) => DesignView
  /** The reader that its views of large results name, by its own name for it: declared from the first request on. */
  readonly ownReader?: (rule: GuardRule) => string | undefined
  /** Its folder for instructions that hold everywhere, and where a project of its begins. @default .plimsoll, the repository */
  readonly instructions?: { readonly folder: string; readonly root: 'repository' | 'nearest' }
  /** The words of its own log; people who ran it search for them. */
  readonly log?: DesignLog
}

/** The functions that a policy's preset brought along; none for a policy that is only data. */
export const designOf = ({ design }: Policy): Partial<Design> => (design ?? {}) as Partial<Design>

/** @throws PlimsollError `bad-config` for a policy with a step whose function its preset did not bring. */
export function checkSteps(policy: Policy): void {
  const { steps = {} } = designOf(policy)
  const missing = policy.cascade.find(({ step }) => !ENGINE_STEPS.has(step) && !Object.hasOwn(steps, step))
  if (missing === undefined) return
  throw new PlimsollError('bad-config', `The policy ${policy.name} has no function for its step ${missing.step}.`, {
    advice: `The engine itself has ${[...ENGINE_STEPS].join(', ')}. For another step start from a preset that has it, and keep its \`design\`.`,
  })
}

const ENGINE_STEPS: ReadonlySet<string> = new Set<CascadeStep['step']>(['fold', 'squeeze', 'final'])

/** What a step proposes on top of what earlier ones did. It says itself when it has nothing to do. */
export type OwnStepFunction<S extends OwnStep> = (
  draft: Draft,
  step: S,
  before: PlannedSoFar,
) => Proposal | Promise<Proposal>

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
  /** For a request that cannot be read, with the last prompt that a provider counted. */
  readonly unread?: (text: string, lastPrompt: number | undefined) => readonly EventBody[]
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

/** A design's formula. */
type Formula = (conversation: Conversation, model: string) => number

/**
 * A meter that decides by a design's formula. `count.tokens` is the design's number, which says when to act; `count.high` is what may
 * leave, and there our own meter decides: four of the five designs count no framing, no tools or only constants.
 */
export function plainMeter(base: Meter, formula: Formula): DesignMeter {
  return {
    ...base,
    design: {
      factor: () => 1,
      estimate: formula,
      load({ target, conversation, occupancy }) {
        const { count, measured } = occupancy
        const estimate = formula(conversation, target.model)
        // Where a measured prompt is part of the request, it is worth more than the formula.
        const tokens = measured === undefined ? estimate : Math.max(estimate, count.tokens)
        return { ...occupancy, count: { ...count, tokens } }
      },
      certain: () => undefined,
    },
  }
}
