import type { GEMINI_RULES } from '../../../src/formats/gemini/rules.ts'
import { type RuleCases, LONE } from '../case.ts'

type Fields = Readonly<Record<string, unknown>>

const SKIP = 'skip_thought_signature_validator'
const user = (text = 'Go') => ({ role: 'user', parts: [{ text }] })
const said = { role: 'model', parts: [{ text: 'Hi' }] }
const call = (name: string, extra: Fields = {}, id?: string): Fields => ({
  functionCall: { name, args: {}, ...(id !== undefined && { id }) },
  ...extra,
})
const answer = (name: string, id?: string): Fields => ({
  functionResponse: { name, response: {}, ...(id !== undefined && { id }) },
})
const model = (...parts: Fields[]) => ({ role: 'model', parts })
const responses = (...parts: Fields[]) => ({ role: 'user', parts })
const declared = (name: string): Fields => ({ name, parameters: { type: 'OBJECT' } })
const body = (contents: unknown, extra: Fields = {}) => ({ contents, ...extra })
const three = { options: { model: 'gemini-3-pro-preview' } }

export const geminiCases: RuleCases<keyof typeof GEMINI_RULES> = {
  'body-shape': { bad: { contents: [] }, good: body([user()]) },
  'body-bytes': { bad: body([user()]), badBytes: 20 * 1024 * 1024 + 1, good: body([user()]) },
  'well-formed-text': { bad: body([user(LONE)]), good: body([user('whole 🚢')]) },
  'content-shape': [
    { bad: body([{ role: 'assistant', parts: [{ text: 'x' }] }]), good: body([user()]) },
    { bad: body([user(), { role: 'model', parts: [] }, user()]), good: body([user(), said, user()]) },
  ],
  'part-shape': [
    { bad: body([{ role: 'user', parts: [{}] }]), good: body([user()]) },
    {
      bad: body([{ role: 'user', parts: [{ text: 'x', inlineData: { data: '' } }] }]),
      good: body([{ role: 'user', parts: [{ text: 'x' }, { inlineData: { data: '' } }] }]),
    },
  ],
  'no-empty-text': { bad: body([user('')]), good: body([user('x')]), options: { profile: 'vertex' } },
  'starts-with-user': [
    { bad: body([said, user()]), good: body([user(), said, user()]) },
    {
      bad: body([responses(answer('a')), said, user()]),
      good: body([user(), model(call('a')), responses(answer('a')), said, user()]),
      also: ['response-turn-order'],
    },
  ],
  'call-turn-order': {
    bad: body([model(call('a')), responses(answer('a'))]),
    good: body([user(), model(call('a')), responses(answer('a'))]),
    also: ['starts-with-user'],
  },
  'response-turn-order': {
    bad: body([user(), said, responses(answer('a'))]),
    good: body([user(), model(call('a')), responses(answer('a'))]),
  },
  'response-count': [
    {
      // The vendor reads contents of one role in a row as one turn, so split calls and responses still match.
      bad: body([user(), model(call('a')), model(call('b')), responses(answer('a'))]),
      good: body([user(), model(call('a')), model(call('b')), responses(answer('a')), responses(answer('b'))]),
    },
    {
      bad: body([user(), model(call('a'), call('b')), responses(answer('a'))]),
      good: body([user(), model(call('a'), call('b')), responses(answer('a'), answer('b'))]),
    },
    { bad: body([user(), model(call('a')), user()]), good: body([user(), model(call('a')), responses(answer('a'))]) },
  ],
  'response-ids': {
    bad: body([user(), model(call('a', {}, 'c1')), responses(answer('a', 'c2'))]),
    good: body([user(), model(call('a', {}, 'c1')), responses(answer('a', 'c1'))]),
  },
  'ends-with-user': { bad: body([user(), said]), good: body([user(), said, user()]) },
  'signature-present': [
    {
      bad: body([user(), model(call('a')), responses(answer('a'))]),
      good: body([user(), model(call('a', { thoughtSignature: SKIP })), responses(answer('a'))]),
      ...three,
    },
    {
      // The second step of the turn needs one of its own; the parallel sibling does not.
      bad: body([
        user(),
        model(call('a', { thoughtSignature: SKIP })),
        responses(answer('a')),
        model(call('b')),
        responses(answer('b')),
      ]),
      good: body([
        user(),
        model(call('a', { thoughtSignature: SKIP }), call('c')),
        responses(answer('a'), answer('c')),
        model(call('b', { thought_signature: SKIP })),
        responses(answer('b')),
      ]),
      ...three,
    },
    {
      // An older turn is not looked at.
      bad: body([user(), said, user('again'), model(call('a')), responses(answer('a'))]),
      good: body([user(), model(call('a')), responses(answer('a')), said, user('again')]),
      ...three,
    },
  ],
  'output-cap': [
    {
      bad: body([user()], { generationConfig: { maxOutputTokens: 65_537 } }),
      good: body([user()], { generationConfig: { maxOutputTokens: 65_536 } }),
    },
    {
      bad: body([user()], { generation_config: { max_output_tokens: 0 } }),
      good: body([user()], { generation_config: { max_output_tokens: 1 } }),
    },
  ],
  'tool-config-needs-tools': {
    bad: body([user()], { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }),
    good: body([user()], {
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      tools: [{ functionDeclarations: [declared('a')] }],
    }),
  },
  'unique-function-names': {
    bad: body([user()], { tools: [{ functionDeclarations: [declared('a'), declared('a')] }] }),
    good: body([user()], { tools: [{ functionDeclarations: [declared('a'), declared('b')] }] }),
  },
  'function-name-format': {
    bad: body([user()], { tools: [{ functionDeclarations: [declared('1a')] }] }),
    good: body([user()], { tools: [{ functionDeclarations: [declared('a1')] }] }),
  },
  'system-text': {
    bad: body([user()], { systemInstruction: { parts: [{ inlineData: { data: '' } }] } }),
    good: body([user()], { systemInstruction: { parts: [{ text: 'Be brief.' }] } }),
  },
  'cached-content-alone': {
    bad: body([user()], { cachedContent: 'cachedContents/1', systemInstruction: { parts: [{ text: 'x' }] } }),
    good: body([user()], { cachedContent: 'cachedContents/1' }),
  },
}
