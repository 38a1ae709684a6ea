import type { Policy } from '../../../src/core/policy.ts'
import { createSession, type Session } from '../../../src/engine/session/session.ts'
import { policyNamed } from '../../../src/engine/presets/index.ts'
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../../../src/ports/summarizer.ts'
import { summaryDesign } from '../../support/summary-design.ts'
import { testEngine, type TestEngine } from '../../support/engine.ts'

/** The default policy with a model that writes the summary. */
export const SUMMARISING: Policy = {
  ...policyNamed('plimsoll'),
  name: 'summarising',
  passes: 2,
  design: summaryDesign(0.2),
  cascade: [
    { step: 'summarise', tail: 6 },
    { step: 'fold', tailShare: 0.15, summaryShare: 0.4 },
    { step: 'squeeze', floorTokens: 120 },
  ],
}

export interface FakeSummarizer extends Summarizer {
  readonly requests: SummaryRequest[]
}

/** Answers as it is told, and keeps what it was asked. */
export function fakeSummarizer(
  answer: (request: SummaryRequest, number: number) => SummaryAnswer | Promise<SummaryAnswer>,
  window = 200_000,
): FakeSummarizer {
  const requests: SummaryRequest[] = []
  return {
    name: 'fake',
    model: 'fake-1',
    window,
    requests,
    async summarise(request) {
      requests.push(request)
      return answer(request, requests.length)
    },
  }
}

export const SOUND = 'State: the parser reads half of the files. Next: read the rest. Nothing was decided.'
export const sound = (): SummaryAnswer => ({ text: SOUND, stop: 'end' })

export interface SummarisingEngine extends TestEngine {
  readonly agent: Session
}

export function summarisingEngine(summarizer: Summarizer, policy: Policy = SUMMARISING): SummarisingEngine {
  const engine = testEngine({ policy })
  const deps = { ...engine.deps, summarizer }
  return { ...engine, deps, agent: createSession(async () => deps, { id: 'test' }) }
}
