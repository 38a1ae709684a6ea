import { describe, expect, it } from 'vitest'
import type { RuleOptions, Violation } from '../../src/core/codec.ts'
import { ANTHROPIC_RULES, checkAnthropicMessages } from '../../src/formats/anthropic-messages/rules.ts'
import { checkConverse, CONVERSE_RULES } from '../../src/formats/bedrock-converse/rules.ts'
import { checkGemini, GEMINI_RULES } from '../../src/formats/gemini/rules.ts'
import { checkOllamaChat, OLLAMA_CHAT_RULES } from '../../src/formats/ollama-chat/rules.ts'
import { checkOpenAiChat, OPENAI_CHAT_RULES } from '../../src/formats/openai-chat/rules.ts'
import { checkOpenAiResponses, OPENAI_RESPONSES_RULES } from '../../src/formats/openai-responses/rules.ts'
import type { RuleBook } from '../../src/formats/kit/rules.ts'
import { createReferee, type Wire } from '../../src/testing/referee/index.ts'
import type { RuleCase } from './case.ts'
import { anthropicCases } from './cases/anthropic-messages.ts'
import { converseCases } from './cases/bedrock-converse.ts'
import { geminiCases } from './cases/gemini.ts'
import { ollamaChatCases } from './cases/ollama-chat.ts'
import { openAiChatCases } from './cases/openai-chat.ts'
import { openAiResponsesCases } from './cases/openai-responses.ts'

interface WireUnderTest {
  readonly rules: RuleBook
  readonly cases: Readonly<Record<string, RuleCase | readonly RuleCase[]>>
  readonly check: (body: unknown, options?: RuleOptions) => readonly Violation[]
  readonly path: (model: string) => string
}

const WIRES: Readonly<Record<Wire, WireUnderTest>> = {
  'anthropic-messages': {
    rules: ANTHROPIC_RULES,
    cases: anthropicCases,
    check: checkAnthropicMessages,
    path: () => '/v1/messages',
  },
  'openai-chat': {
    rules: OPENAI_CHAT_RULES,
    cases: openAiChatCases,
    check: checkOpenAiChat,
    path: () => '/v1/chat/completions',
  },
  'openai-responses': {
    rules: OPENAI_RESPONSES_RULES,
    cases: openAiResponsesCases,
    check: checkOpenAiResponses,
    path: () => '/v1/responses',
  },
  'ollama-chat': {
    rules: OLLAMA_CHAT_RULES,
    cases: ollamaChatCases,
    check: checkOllamaChat,
    path: () => '/api/chat',
  },
  'bedrock-converse': {
    rules: CONVERSE_RULES,
    cases: converseCases,
    check: checkConverse,
    path: (model) => `/model/${model}/converse`,
  },
  gemini: {
    rules: GEMINI_RULES,
    cases: geminiCases,
    check: checkGemini,
    path: (model) => `/v1beta/models/${model}:generateContent`,
  },
}

const HEADERS = {
  'x-api-key': 'k',
  authorization: 'Bearer k',
  'x-goog-api-key': 'k',
  'anthropic-version': '2023-06-01',
  // Bodies are judged here, so the headers that they need are there.
  'anthropic-beta': 'context-management-2025-06-27,compact-2026-01-12',
}

/** What the referee of the wire says to a body; seals of the cases are not its own, so it is asked about the rules only. */
async function ask(wire: Wire, body: unknown, options: RuleOptions = {}, bytes = 0) {
  const { profile, model = 'gemini-2.5-pro' } = options
  const referee = createReferee({ wire, window: 100_000_000, ...(profile !== undefined && { profile }) })
  const raw = Buffer.from(JSON.stringify(body).padEnd(bytes))
  const response = await referee.handle({ method: 'POST', path: WIRES[wire].path(model), headers: HEADERS, body: raw })
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  return { status: response.status, rule: response.headers['x-referee-rule'], text: Buffer.concat(chunks).toString() }
}

const rulesOf = (violations: readonly Violation[]): string[] => [...new Set(violations.map(({ rule }) => rule))].sort()

/** Rules of these names need a seal that only a referee makes; a made-up one is refused for that, which is right too. */
const NEEDS_SEAL = new Set(['thinking-signature', 'signature-valid', 'reasoning-unsealed'])

describe.each(Object.keys(WIRES) as Wire[])('rules of %s', (wire) => {
  const under = WIRES[wire]
  const list = Object.entries(under.cases).flatMap(([rule, cases]) =>
    [cases].flat().map((one: RuleCase, index) => ({ ...one, rule, title: `${rule}, case ${index + 1}` })),
  )

  it('has a case for each rule', () => {
    expect(Object.keys(under.cases).sort()).toEqual(Object.keys(under.rules).sort())
  })

  it.each(list)('$title: finds the broken rule and nothing else', ({ rule, bad, options, also = [], badBytes }) => {
    const violations = under.check(bad, { ...options, ...(badBytes !== undefined && { bytes: badBytes }) })
    expect(rulesOf(violations)).toEqual([rule, ...also].sort())
    for (const { message } of violations) expect(message).not.toBe('')
  })

  it.each(list)('$title: takes the valid twin', ({ good, options }) => {
    expect(under.check(good, options)).toEqual([])
  })

  it.each(list)('$title: the referee refuses the one, names the rule, and answers the other', async (one) => {
    const { rule, bad, good, options, badBytes, also = [] } = one
    const refused = await ask(wire, bad, options, badBytes)
    expect([rule, ...also]).toContain(refused.rule)
    expect(refused.text).toContain(`[rule: ${refused.rule}]`)
    expect(refused.status).toBe(badBytes === undefined ? 400 : 413)
    const taken = await ask(wire, good, options)
    if (!NEEDS_SEAL.has(taken.rule ?? '')) expect(taken).toMatchObject({ status: 200, rule: undefined })
  })
})
