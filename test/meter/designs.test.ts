import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import type { EventBody } from '../../src/core/events.ts'
import type { Item, ItemKind } from '../../src/core/item.ts'
import { approximate, createTokenizerById } from '../../src/drivers/tokenizers/by-id.ts'
import { adkCodeEstimator } from '../../src/engine/presets/adk-code.ts'
import { aiAgentEstimator, aiAgentMeter, aiAgentSchemaTokens } from '../../src/engine/presets/ai-agent/meter.ts'
import { autosreSliding } from '../../src/engine/presets/autosre/policy.ts'
import { contextguardCalibrated, contextguardHeuristic } from '../../src/engine/presets/contextguard/estimate.ts'
import { cyberEstimate, cyberRatio } from '../../src/engine/presets/cyber-autoagent/estimate.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { type Anchor, createMeter } from '../../src/meter/index.ts'
import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'

let nextMessage = 0
function item(kind: ItemKind, text: string, more: Partial<Item> = {}): Item {
  const role = kind === 'instruction' ? 'system' : kind === 'result' ? 'tool' : kind === 'user' ? 'user' : 'assistant'
  return { id: `i${nextMessage}`, kind, role, text, message: nextMessage++, ...more }
}

function conversation(items: readonly Item[], more: Partial<Conversation> = {}): Conversation {
  return {
    format: 'gemini',
    head: [],
    items,
    tools: [],
    settings: { stream: false, reasoning: false },
    source: { format: 'gemini', value: undefined },
    ...more,
  }
}

const text = (length: number): string => 'x'.repeat(length)

const estimate = (items: readonly Item[], more: Partial<Conversation> = {}): number =>
  contextguardHeuristic(conversation(items, more))

describe('contextguard', () => {
  it('counts bytes / 4 per field', () => {
    expect(estimate([])).toBe(0)
    expect(estimate([item('user', text(400))])).toBe(100)
    expect(estimate([item('user', text(400))], { head: [item('instruction', text(200))] })).toBe(150)
    expect(estimate([item('user', text(800)), item('assistant', text(400))])).toBe(300)
    expect(estimate([item('user', text(3)), item('user', text(3))])).toBe(0)
  })

  it('counts calls, results, inline data and declared tools', () => {
    expect(estimate([item('call', '{"path":"abcd"}', { toolName: 'read' })])).toBe(1 + 1 + 1)
    expect(estimate([item('result', text(2000), { toolName: 'read' })])).toBe(1 + 503)
    expect(
      estimate([item('media', '', { media: [{ type: 'image', mime: 'image/png', data: text(13_336) }] })]),
    ).toBeGreaterThanOrEqual(2500)
    const schema = { type: 'object', properties: { path: { type: 'string', description: text(60) } } }
    const tools = ['a', 'b'].map((name) => ({
      name,
      text: JSON.stringify({ name, description: text(40), parameters: schema }),
    }))
    expect(estimate([], { tools })).toBeGreaterThanOrEqual(50)
  })

  it.each([
    ['nothing known', 100, {}, 250],
    ['real tokens without a heuristic', 100, { realTokens: 200_000 }, 200_000],
    ['a ratio of two', 750, { realTokens: 1000, lastHeuristic: 500 }, 1500],
    ['a ratio below one', 500, { realTokens: 300, lastHeuristic: 600 }, 500],
    ['a ratio above five', 1000, { realTokens: 5000, lastHeuristic: 100 }, 5000],
    ['a small request after a large one', 10, { realTokens: 100_000, lastHeuristic: 50_000 }, 100_000],
    ['a result that came after the last usage', 90_000, { realTokens: 140_000, lastHeuristic: 70_000 }, 180_000],
  ])('calibrates with %s', (_, heuristic, state, expected) => {
    expect(contextguardCalibrated(heuristic, state)).toBe(expected)
  })
})

describe('Cyber-AutoAgent', () => {
  it.each([
    ['anthropic/claude-sonnet-4-5', 3.7],
    ['azure/gpt-5', 4.0],
    ['moonshot/kimi-k2', 3.8],
    ['gemini-2.5-pro', 4.2],
    ['', 3.7],
    ['llama', 3.7],
  ])('knows the ratio of %s', (model, ratio) => {
    expect(cyberRatio(model)).toBe(ratio)
  })

  it('adds fixed parts, 50 per message and characters / ratio', () => {
    const two = conversation([item('user', text(4000)), item('assistant', text(4000))])
    expect(cyberEstimate(two, 'gpt-4o')).toBe(8000 + 3000 + 100 + 2000)
    expect(cyberEstimate(two, 'claude-sonnet-4-5')).toBe(11_100 + 2162)
  })

  it('counts pictures as 600 characters and documents by name + 400', () => {
    const media = conversation([item('user', '', { media: [{ type: 'image' }, { type: 'document', name: 'abcd' }] })])
    expect(cyberEstimate(media, 'gpt-4o')).toBe(11_050 + 251)
  })

  it('is zero for an empty history, with the documented log line', () => {
    const lines: EventBody[] = []
    const log = (event: EventBody): number => lines.push(event)
    expect(cyberEstimate(conversation([]), 'm', log)).toBe(0)
    const shown = lines.map((event) =>
      event.type === 'warning' ? event.message : event.type === 'degraded' ? event.cause : '',
    )
    expect(shown).toEqual(['TOKEN ESTIMATION: agent.messages is empty'])
  })
})

describe('ai-agent', () => {
  const perCharacter = {
    name: 'per-character',
    count: (value: string) => ({ tokens: value.length, low: 0, high: 0, source: 'exact' as const }),
  }

  it('takes the largest of all tokenizers with 4 per message and 2 per call, and never less than bytes / 4', () => {
    const one = conversation([item('user', 'hello')])
    expect(aiAgentEstimator([perCharacter])(one)).toBe('user\nhello'.length + 4)
    const bytes = Buffer.byteLength(JSON.stringify({ role: 'user', content: 'hello' }))
    expect(aiAgentEstimator([])(one)).toBe(Math.ceil(bytes / 4))
    expect(aiAgentEstimator([approximate, perCharacter])(one)).toBe(14)
    const message = nextMessage++
    const called = conversation([
      item('call', '{}', { toolName: 't', callId: 'c', message }),
      item('call', '{}', { toolName: 't', callId: 'd', message }),
    ])
    const plain = conversation([
      item(
        'assistant',
        JSON.stringify([
          { id: 'c', name: 't', parameters: '{}' },
          { id: 'd', name: 't', parameters: '{}' },
        ]),
      ),
    ])
    expect(aiAgentEstimator([perCharacter])(called)).toBe(aiAgentEstimator([perCharacter])(plain) + 4 + 1)
  })

  it('scales schemas by 2.09 and leaves out its own tools unless nothing else is left', () => {
    const tool = (name: string) => ({ name, text: JSON.stringify({ name, description: text(100), parameters: {} }) })
    const single = JSON.stringify({ name: 'grep', description: text(100), schema: '{}' }).length
    expect(aiAgentSchemaTokens([tool('grep')], [])).toBe(Math.ceil(Math.ceil(single / 4) * 2.09))
    expect(aiAgentSchemaTokens([tool('grep'), tool('agent__final_report')], [])).toBe(
      aiAgentSchemaTokens([tool('grep')], []),
    )
    expect(aiAgentSchemaTokens([tool('agent__final_report')], [])).toBeGreaterThan(0)
  })
})

describe('the projection of ai-agent', () => {
  it('counts a conversation as pending, and a measured one with what came since', () => {
    const base = createMeter({ catalogue: bundledCatalogue() })
    const { design } = aiAgentMeter(base, {}, { tokenizerOf: () => approximate, onEvent: () => {} })
    const tools = [{ name: 'grep', text: JSON.stringify({ name: 'grep', description: text(100), parameters: {} }) }]
    const said = [item('user', text(4000)), item('assistant', 'I look.')]
    const request = conversation([...said, item('result', text(400), { callId: 'c' })], { tools })
    const measurement = base.measure('gpt-4o', request, 0)
    const input = { target: { model: 'gpt-4o' }, gauge: 'gpt-4o', measurement, occupancy: measurement, last: undefined }
    const schema = aiAgentSchemaTokens(tools, [])
    const pending = aiAgentEstimator([])(request)
    const planned = design.load({ ...input, conversation: request, anchor: undefined })
    expect(planned.count.tokens).toBe(pending + schema)
    expect(planned.counters).toEqual({ current: 0, pending, fresh: 0, schema, reasoning: 0 })
    // The measured prompt holds the schema: it is not added again.
    const anchor: Anchor = { prompt: 1500, output: 200, reasoning: 50, items: 1, standing: 0, rawTokens: 0 }
    const measured = design.load({ ...input, conversation: request, anchor })
    const fresh = aiAgentEstimator([])(conversation(request.items.slice(2)))
    expect(measured.count.tokens).toBe(1700 + fresh)
    expect(measured.counters).toEqual({ current: 1700, pending: 0, fresh, schema, reasoning: 50 })
    // What was measured is no longer there.
    const rewound = design.load({ ...input, conversation: request, anchor: { ...anchor, items: 9 } })
    expect(rewound.count.tokens).toBe(pending + schema)
  })
})

describe('AutoSRE and adk-code', () => {
  it('divide characters by 4 for the sliding window', () => {
    expect(autosreSliding(conversation([item('user', text(100))]))).toBe(25)
  })

  it('divide bytes by 4 for each item in adk-code', () => {
    expect(adkCodeEstimator(conversation([item('user', text(3000)), item('assistant', 'ä')]))).toBe(750)
  })
})

describe('tokenizers by id', () => {
  it.each([
    ['tiktoken:gpt-4o', 'o200k'],
    ['tiktoken:o200k_base', 'o200k'],
    ['tiktoken:gpt-4', 'cl100k'],
    ['tiktoken:cl100k_base', 'cl100k'],
    ['tiktoken:some-new-model', 'cl100k'],
  ])('choose the vocabulary of %s', async (id, family) => {
    const tokenizers = createTokenizers()
    await tokenizers.load(family)
    const sample = 'Zusammenfassung: größere Fenster, 的 2026-11-15'
    expect(createTokenizerById({ tokenizers })(id).count(sample)).toEqual(tokenizers.get(family)!.count(sample))
  })

  it.each(['anthropic', 'claude:sonnet', 'gemini', 'google:gemini-2.5-pro', 'google-gemini'])(
    'estimate for %s',
    (id) => {
      const events: EventBody[] = []
      const { tokens } = createTokenizerById({ onEvent: (event) => events.push(event) })(id).count(
        'Hello there, how are you today?',
      )
      expect(tokens).toBeGreaterThan(5)
      expect(tokens).toBeLessThan(15)
      expect(events).toEqual([])
    },
  )

  it('approximate an unknown id and a failing tokenizer, each with one warning', () => {
    const events: EventBody[] = []
    const onEvent = (event: EventBody): number => events.push(event)
    const broken = {
      name: 'broken',
      count: () => {
        throw new Error('trap')
      },
    }
    const byId = createTokenizerById({ onEvent, tokenizers: { get: () => broken } })
    for (let i = 0; i < 2; i++) {
      expect(byId('no-such').count('12345678').tokens).toBe(2)
      expect(byId('tiktoken:gpt-4o').count('12345678').tokens).toBe(2)
    }
    expect(byId('approximate').count('12345').tokens).toBe(2)
    expect(events.map(({ type }) => type)).toEqual(['warning', 'warning'])
  })
})
