import type { OPENAI_CHAT_RULES } from '../../../src/formats/openai-chat/rules.ts'
import { type RuleCases, LONE } from '../case.ts'

type Fields = Readonly<Record<string, unknown>>

const user = (content: unknown = 'Go') => ({ role: 'user', content })
const call = (id: string, name = 'bash', args: unknown = '{}'): Fields => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const assistant = (tool_calls: readonly Fields[], extra: Fields = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls,
  ...extra,
})
const said = (content: unknown = 'Hi', extra: Fields = {}) => ({ role: 'assistant', content, ...extra })
const tool = (tool_call_id: string, content: unknown = 'ok') => ({ role: 'tool', tool_call_id, content })
const declared = (name: string): Fields => ({ type: 'function', function: { name, parameters: { type: 'object' } } })
const tools = [declared('bash')]
const body = (messages: unknown, extra: Fields = {}) => ({ model: 'gpt-4.1', messages, ...extra })
const withTools = (messages: unknown, extra: Fields = {}) => body(messages, { tools, ...extra })
const long = 'c'.repeat(41)

export const openAiChatCases: RuleCases<keyof typeof OPENAI_CHAT_RULES> = {
  'body-shape': [
    { bad: body([]), good: body([user()]) },
    { bad: { messages: [user()] }, good: body([user()]) },
  ],
  'well-formed-text': { bad: body([user(LONE)]), good: body([user('whole 🚢')]) },
  'message-shape': [
    { bad: body([{ role: 'model', content: 'x' }]), good: body([user('x')]) },
    { bad: body([user({ text: 'x' })]), good: body([user([{ type: 'text', text: 'x' }])]) },
  ],
  'content-present': [
    { bad: body([user(), said(null), user()]), good: body([user(), said(), user()]) },
    { bad: body([user([])]), good: body([user([{ type: 'text', text: 'x' }])]) },
    { bad: body([{ role: 'user' }]), good: body([user()]) },
  ],
  'calls-answered': [
    {
      bad: withTools([user(), assistant([call('a')]), user()]),
      good: withTools([user(), assistant([call('a')]), tool('a'), user()]),
    },
    {
      bad: withTools([user(), assistant([call('a'), call('b')]), tool('a')]),
      good: withTools([user(), assistant([call('a'), call('b')]), tool('b'), tool('a')]),
    },
    { bad: withTools([user(), assistant([call('a')])]), good: withTools([user(), assistant([call('a')]), tool('a')]) },
  ],
  'results-have-calls': [
    { bad: withTools([user(), tool('a')]), good: withTools([user(), assistant([call('a')]), tool('a')]) },
    {
      bad: withTools([user(), assistant([call('a')]), tool('a'), user(), tool('a')]),
      good: withTools([user(), assistant([call('a')]), tool('a'), user(), said(), user()]),
    },
    {
      bad: withTools([user(), assistant([call('a')]), tool('a'), tool('b')]),
      good: withTools([user(), assistant([call('a'), call('b')]), tool('a'), tool('b')]),
    },
  ],
  'results-once': {
    bad: withTools([user(), assistant([call('a')]), tool('a'), tool('a')]),
    good: withTools([user(), assistant([call('a')]), tool('a')]),
  },
  'unique-call-ids': {
    bad: withTools([user(), assistant([call('a')]), tool('a'), assistant([call('a')]), tool('a')]),
    good: withTools([user(), assistant([call('a')]), tool('a'), assistant([call('b')]), tool('b')]),
  },
  'call-shape': {
    bad: withTools([user(), assistant([call('a', 'bash', { command: 'ls' })]), tool('a')]),
    good: withTools([user(), assistant([call('a', 'bash', '{"command":"ls"}')]), tool('a')]),
  },
  'call-id-length': {
    bad: withTools([user(), assistant([call(long)]), tool(long)]),
    good: withTools([user(), assistant([call('c')]), tool('c')]),
    options: { profile: 'openai' },
  },
  'call-id-nine': {
    bad: withTools([user(), assistant([call('call_1')]), tool('call_1')]),
    good: withTools([user(), assistant([call('abcDEF123')]), tool('abcDEF123')]),
    options: { profile: 'mistral' },
  },
  'mistral-order': [
    {
      bad: withTools([user(), assistant([call('abcDEF123')]), tool('abcDEF123'), user()]),
      good: withTools([user(), assistant([call('abcDEF123')]), tool('abcDEF123'), said(), user()]),
      options: { profile: 'mistral' },
    },
    { bad: body([user(), said()]), good: body([user(), said('x', { prefix: true })]), options: { profile: 'mistral' } },
  ],
  'reasoning-required': {
    bad: withTools([user(), assistant([call('a')]), tool('a')]),
    good: withTools([user(), assistant([call('a')], { reasoning_content: 'hm' }), tool('a')]),
    options: { profile: 'reasoning-required' },
  },
  'reasoning-forbidden': {
    bad: body([user(), said('x', { reasoning_content: 'hm' }), user()]),
    good: body([user(), said('x'), user()]),
    options: { profile: 'reasoning-forbidden' },
  },
  'no-empty-text': {
    bad: body([user(), said(' '), user()]),
    good: body([user(), said('x'), user()]),
    options: { profile: 'no-empty-text' },
  },
  'tools-not-empty': { bad: body([user()], { tools: [] }), good: body([user()]) },
  'tool-choice-needs-tools': [
    { bad: body([user()], { tool_choice: 'auto' }), good: withTools([user()], { tool_choice: 'auto' }) },
    { bad: body([user()], { parallel_tool_calls: true }), good: withTools([user()], { parallel_tool_calls: true }) },
    {
      bad: withTools([user()], { tool_choice: { type: 'function', function: { name: 'grep' } } }),
      good: withTools([user()], { tool_choice: { type: 'function', function: { name: 'bash' } } }),
    },
  ],
  'tool-name-format': {
    bad: body([user()], { tools: [declared('a b')] }),
    good: body([user()], { tools: [declared('a_b')] }),
  },
  'stream-options-need-stream': {
    bad: body([user()], { stream_options: { include_usage: true } }),
    good: body([user()], { stream_options: { include_usage: true }, stream: true }),
  },
  'output-cap': [
    { bad: body([user()], { max_tokens: 0 }), good: body([user()], { max_tokens: 1 }) },
    {
      bad: body([user()], { max_tokens: 10, max_completion_tokens: 10 }),
      good: body([user()], { max_completion_tokens: 10 }),
    },
  ],
}
