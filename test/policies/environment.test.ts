import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import type { Limit } from '../../src/core/target.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { designOf } from '../../src/engine/presets/design.ts'
import { policies, policyNamed } from '../../src/engine/presets/index.ts'

type Pick = (policy: Policy) => unknown
const stepOf = (policy: Policy, name: string): Record<string, unknown> =>
  policy.cascade.find(({ step }) => step === name) as unknown as Record<string, unknown>

const WINDOW: Limit = { window: 1_000, buffer: 0, outputReserve: 0, tokens: 1_000, bytes: 1_000_000, source: 'config' }

const VARIABLES: readonly (readonly [
  policy: string,
  name: string,
  pick: Pick,
  cases: readonly (readonly [string | undefined, unknown])[],
])[] = [
  [
    'autosre',
    'SRE_AGENT_TOKEN_BUDGET',
    (p) => p.tokenBudget,
    [
      [undefined, undefined],
      ['0', undefined],
      ['5000', 5_000],
      ['many', undefined],
    ],
  ],
  [
    'autosre',
    'SRE_AGENT_LARGE_PAYLOAD_ENABLED',
    (p) => p.intake.guard?.items,
    [
      [undefined, 50],
      ['false', undefined],
      ['FALSE', undefined],
      ['no', 50],
    ],
  ],
  [
    'autosre',
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS',
    (p) => p.intake.guard?.items,
    [
      [undefined, 50],
      ['7', 7],
      ['seven', 50],
    ],
  ],
  [
    'autosre',
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS',
    (p) => p.intake.guard?.chars,
    [
      [undefined, 100_000],
      ['900', 900],
      ['-1', 100_000],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_CONTEXT_LIMIT',
    (p) => p.defaultWindow,
    [
      [undefined, 200_000],
      ['64000', 64_000],
      ['big', 200_000],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_PROMPT_TELEMETRY_THRESHOLD',
    (p) => p.water.high,
    [
      [undefined, 0.65],
      ['0.5', 0.5],
      ['0.01', 0.1],
      ['2', 0.95],
      ['half', 0.65],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_PROMPT_CACHE_RELAX',
    // What a warm cache adds to 65 % of a window of 1,000.
    (p) => highWater(p, WINDOW, true) - highWater(p, WINDOW),
    [
      [undefined, 100],
      ['0.2', 200],
      ['0.9', 300],
      ['x', 100],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_PROMPT_CACHE_HINT',
    (p) => p.water.high,
    [
      [undefined, 0.65],
      ['true', 0.75],
      ['yes', 0.65],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_TOOL_COMPRESS_TRUNCATE',
    (p) => stepOf(p, 'compress-results')['toChars'],
    [
      [undefined, 8_000],
      ['500', 500],
      ['x', 8_000],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_TOOL_MAX_RESULT_CHARS',
    (p) => p.intake.guard?.shownChars,
    [
      [undefined, 30_000],
      ['700', 700],
      ['x', 30_000],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_TOOL_RESULT_ARTIFACT_THRESHOLD',
    (p) => p.intake.guard?.chars,
    [
      [undefined, 10_000],
      ['50', 50],
      ['x', 10_000],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_CONVERSATION_WINDOW',
    (p) => stepOf(p, 'window')['size'],
    [
      [undefined, 100],
      ['30', 30],
      ['3', 10],
      ['500', 120],
      ['x', 100],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_CONVERSATION_PRESERVE_FIRST',
    (p) => stepOf(p, 'window')['preserveFirst'],
    [
      [undefined, 1],
      ['2', 2],
      ['x', 1],
    ],
  ],
  [
    'cyber-autoagent',
    'CYBER_CONVERSATION_PRESERVE_LAST',
    (p) => stepOf(p, 'window')['preserveLast'],
    [
      [undefined, 5],
      ['12', 12],
      ['auto', 15],
      ['x', 5],
    ],
  ],
  [
    'ai-agent',
    'CONTEXT_DEBUG',
    (p) => (designOf(p).log === undefined ? undefined : true),
    [
      [undefined, undefined],
      ['true', true],
      ['1', undefined],
    ],
  ],
]

describe('environment variables', () => {
  for (const [policy, name, pick, cases] of VARIABLES) {
    it.each(cases)(`${name}=%s`, (value, expected) => {
      expect(pick(policyNamed(policy, value === undefined ? {} : { [name]: value }))).toEqual(expected)
    })
  }

  it('reads the process where nothing else is given', () => {
    process.env['CYBER_CONVERSATION_WINDOW'] = '40'
    try {
      expect(stepOf(policyNamed('cyber-autoagent'), 'window')['size']).toBe(40)
    } finally {
      delete process.env['CYBER_CONVERSATION_WINDOW']
    }
    expect(stepOf(policies.get('cyber-autoagent')!, 'window')['size']).toBe(100)
  })
})
