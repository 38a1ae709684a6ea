import type { OllamaChatRule } from '../../../src/formats/ollama-chat/rules.ts'
import { type RuleCases, png } from '../case.ts'

type Fields = Readonly<Record<string, unknown>>

const user = (content: unknown = 'Go', extra: Fields = {}): Fields => ({ role: 'user', content, ...extra })
const called = (call: Fields): Fields => ({ role: 'assistant', content: '', tool_calls: [{ function: call }] })
const body = (messages: unknown, extra: Fields = {}) => ({ model: 'llama3.1:8b', messages, stream: false, ...extra })
const result: Fields = { role: 'tool', content: 'ok', tool_name: 'bash' }

export const ollamaChatCases: RuleCases<OllamaChatRule> = {
  'body-shape': [
    { bad: { messages: [user()] }, good: body([user()]) },
    { bad: body([user()], { model: '' }), good: body([user()]) },
  ],
  'message-shape': [
    { bad: body('Go'), good: body([user()]) },
    { bad: body(['Go']), good: body([user('Go')]) },
    { bad: body([user([{ type: 'text', text: 'Go' }])]), good: body([user('Go')]) },
    { bad: body([user('Go', { thinking: 7 })]), good: body([user('Go', { thinking: 'Seven.' })]) },
  ],
  'message-role': {
    bad: body([{ role: 'developer', content: 'Go' }]),
    good: body([{ role: 'system', content: 'Go' }, user()]),
  },
  'images-base64': [
    {
      bad: body([user('Look', { images: ['data:image/png;base64,AAAA'] })]),
      good: body([user('Look', { images: [png(8, 8)] })]),
    },
    { bad: body([user('Look', { images: [{ data: 'AAAA' }] })]), good: body([user('Look', { images: [png(8, 8)] })]) },
  ],
  'call-shape': [
    {
      bad: body([user(), called({ name: 'bash', arguments: '{"command":"ls"}' }), result]),
      good: body([user(), called({ name: 'bash', arguments: { command: 'ls' } }), result]),
    },
    {
      bad: body([user(), called({ arguments: {} }), result]),
      good: body([user(), called({ name: 'bash', arguments: {} }), result]),
    },
  ],
  'tool-shape': {
    bad: body([user()], { tools: [{ name: 'bash' }] }),
    good: body([user()], { tools: [{ type: 'function', function: { name: 'bash' } }] }),
  },
  'options-shape': [
    { bad: body([user()], { options: [] }), good: body([user()], { options: {} }) },
    { bad: body([user()], { options: { num_ctx: '4096' } }), good: body([user()], { options: { num_ctx: 4096 } }) },
  ],
}
