import type { OPENAI_RESPONSES_RULES } from '../../../src/formats/openai-responses/rules.ts'
import { type RuleCases, LONE } from '../case.ts'

type Fields = Readonly<Record<string, unknown>>

const user = (content: unknown = 'Go'): Fields => ({ role: 'user', content })
const call = (call_id: string, extra: Fields = {}): Fields => ({
  type: 'function_call',
  call_id,
  name: 'bash',
  arguments: '{}',
  ...extra,
})
const output = (call_id: string): Fields => ({ type: 'function_call_output', call_id, output: 'ok' })
const reasoning = (id: string, extra: Fields = {}): Fields => ({ type: 'reasoning', id, summary: [], ...extra })
const said: Fields = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
const declared = (name: string, extra: Fields = {}): Fields => ({ type: 'function', name, parameters: {}, ...extra })
const body = (input: unknown, extra: Fields = {}) => ({ model: 'gpt-5.2', input, ...extra })
const long = 'c'.repeat(65)

export const openAiResponsesCases: RuleCases<keyof typeof OPENAI_RESPONSES_RULES> = {
  'body-shape': [
    { bad: { model: 'gpt-5.2' }, good: body('Go') },
    { bad: { input: 'Go' }, good: body('Go') },
  ],
  'well-formed-text': { bad: body(LONE), good: body('whole 🚢') },
  'item-shape': [
    { bad: body([{ text: 'x' }]), good: body([user('x')]) },
    { bad: body([{ role: 'user' }]), good: body([user()]) },
  ],
  'call-shape': [
    { bad: body([user(), call('a', { arguments: {} }), output('a')]), good: body([user(), call('a'), output('a')]) },
    { bad: body([user(), call(long), output(long)]), good: body([user(), call('a'), output('a')]) },
  ],
  'calls-answered': [
    { bad: body([user(), call('a')]), good: body([user(), call('a'), output('a')]) },
    {
      bad: body([user(), call('a'), call('b'), output('b')]),
      good: body([user(), call('a'), call('b'), output('b'), output('a')]),
    },
    {
      bad: body([user(), { type: 'custom_tool_call', call_id: 'a', name: 'x', input: '' }]),
      good: body([
        user(),
        { type: 'custom_tool_call', call_id: 'a', name: 'x', input: '' },
        { type: 'custom_tool_call_output', call_id: 'a', output: '' },
      ]),
    },
  ],
  'outputs-have-calls': [
    { bad: body([user(), output('a')]), good: body([user(), call('a'), output('a')]) },
    { bad: body([user(), output('a'), call('a'), output('a')]), good: body([user(), call('a'), output('a')]) },
  ],
  'outputs-once': {
    bad: body([user(), call('a'), output('a'), output('a')]),
    good: body([user(), call('a'), output('a')]),
  },
  'unique-call-ids': {
    bad: body([user(), call('a'), output('a'), call('a'), output('a')]),
    good: body([user(), call('a'), output('a'), call('b'), output('b')]),
  },
  'unique-item-ids': {
    bad: body([user(), call('a', { id: 'fc_1' }), output('a'), call('b', { id: 'fc_1' }), output('b')]),
    good: body([user(), call('a', { id: 'fc_1' }), output('a'), call('b', { id: 'fc_2' }), output('b')]),
  },
  'item-id-prefix': {
    bad: body([user(), call('a', { id: 'call_1' }), output('a')]),
    good: body([user(), call('a', { id: 'fc_1' }), output('a')]),
  },
  'reasoning-followed': [
    { bad: body([user(), reasoning('rs_1'), user()]), good: body([user(), reasoning('rs_1'), said, user()]) },
    { bad: body([user(), reasoning('rs_1')]), good: body([user(), reasoning('rs_1'), call('a'), output('a')]) },
    {
      bad: body([user(), call('a'), reasoning('rs_1'), output('a')]),
      good: body([user(), reasoning('rs_1'), call('a'), output('a')]),
    },
  ],
  'reasoning-sealed': {
    bad: body([user(), reasoning('rs_1'), said], { store: false }),
    good: body([user(), reasoning('rs_1'), said]),
  },
  'no-references': {
    bad: body([user(), { type: 'item_reference', id: 'msg_1' }], { store: false }),
    good: body([user(), { type: 'item_reference', id: 'msg_1' }]),
  },
  'compaction-shape': { bad: body([{ type: 'compaction', id: 'cmp_1' }, user()]), good: body([user()]) },
  'one-chain': {
    bad: body([user()], { previous_response_id: 'resp_1', conversation: 'conv_1' }),
    good: body([user()], { conversation: 'conv_1' }),
  },
  'deferred-tools': {
    bad: body([user()], { tools: [declared('bash', { defer_loading: true })] }),
    good: body([user()], { tools: [declared('bash', { defer_loading: true }), { type: 'tool_search' }] }),
  },
  'tool-choice-needs-tools': [
    {
      bad: body([user()], { tool_choice: 'required' }),
      good: body([user()], { tool_choice: 'required', tools: [declared('bash')] }),
    },
    {
      bad: body([user()], { tools: [declared('bash')], tool_choice: { type: 'function', name: 'grep' } }),
      good: body([user()], { tools: [declared('bash')], tool_choice: { type: 'function', name: 'bash' } }),
    },
  ],
  'output-cap': { bad: body('Go', { max_output_tokens: 15 }), good: body('Go', { max_output_tokens: 16 }) },
}
