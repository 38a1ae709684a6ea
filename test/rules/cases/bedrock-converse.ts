import type { CONVERSE_RULES } from '../../../src/formats/bedrock-converse/rules.ts'
import { LONE, type RuleCases } from '../case.ts'

type Fields = Readonly<Record<string, unknown>>

const user = (...content: Fields[]): Fields => ({
  role: 'user',
  content: content.length > 0 ? content : [{ text: 'Go' }],
})
const model = (...content: Fields[]): Fields => ({
  role: 'assistant',
  content: content.length > 0 ? content : [{ text: 'Hi' }],
})
const call = (toolUseId: string): Fields => ({ toolUse: { toolUseId, name: 'a', input: {} } })
const result = (toolUseId: string): Fields => ({ toolResult: { toolUseId, content: [{ text: 'ok' }] } })
const tool = (name: string): Fields => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } })
const point = { cachePoint: { type: 'default' } }
const toolConfig = { tools: [tool('a')] }
const body = (messages: readonly unknown[], extra: Fields = {}): Fields => ({ messages, ...extra })
const withTools = (...messages: Fields[]): Fields => body(messages, { toolConfig })
const good = body([user()])

export const converseCases: RuleCases<keyof typeof CONVERSE_RULES> = {
  'body-shape': [
    { bad: body([]), good },
    { bad: body([{ role: 'system', content: [{ text: 'x' }] }]), good },
    { bad: body([user({ text: 'x', image: {} })]), good },
    { bad: body([user()], { system: 'x' }), good: body([user()], { system: [{ text: 'x' }] }) },
  ],
  'well-formed-text': { bad: body([user({ text: LONE })]), good: body([user({ text: 'whole 🚢' })]) },
  'starts-with-user': { bad: body([model(), user()]), good: body([user(), model(), user()]) },
  'roles-alternate': [
    { bad: body([user(), user()]), good: body([user(), model(), user()]) },
    { bad: body([user(), model(), model(), user()]), good: body([user(), model(), user()]) },
  ],
  'no-empty-content': { bad: body([{ role: 'user', content: [] }]), good },
  'no-empty-text': [
    { bad: body([user({ text: ' \n' })]), good },
    { bad: body([user()], { system: [{ text: '' }] }), good },
  ],
  'results-follow-calls': [
    { bad: withTools(user(), model(call('1')), user()), good: withTools(user(), model(call('1')), user(result('1'))) },
    {
      bad: withTools(user(), model(call('1'), call('2')), user(result('1'))),
      good: withTools(user(), model(call('1'), call('2')), user(result('2'), result('1'))),
    },
    { bad: withTools(user(), model(call('1'))), good: withTools(user(), model(call('1')), user(result('1'))) },
  ],
  'results-have-calls': {
    bad: withTools(user(), model(), user(result('1'))),
    good: withTools(user(), model(call('1')), user(result('1'))),
  },
  'unique-call-ids': {
    bad: withTools(user(), model(call('1'), call('1')), user(result('1'))),
    good: withTools(user(), model(call('1')), user(result('1'))),
  },
  'unique-result-ids': {
    bad: withTools(user(), model(call('1')), user(result('1'), result('1'))),
    good: withTools(user(), model(call('1')), user(result('1'))),
  },
  'history-tools-declared': {
    bad: body([user(), model(call('1')), user(result('1'))]),
    good: withTools(user(), model(call('1')), user(result('1'))),
  },
  'tools-filled': { bad: body([user()], { toolConfig: { tools: [point] } }), good: body([user()], { toolConfig }) },
  'tool-name-format': {
    bad: body([user()], { toolConfig: { tools: [tool('a b')] } }),
    good: body([user()], { toolConfig: { tools: [tool('a_b')] } }),
  },
  'unique-tool-names': {
    bad: body([user()], { toolConfig: { tools: [tool('a'), tool('a')] } }),
    good: body([user()], { toolConfig: { tools: [tool('a'), tool('b')] } }),
  },
  'tool-choice-known': {
    bad: body([user()], { toolConfig: { ...toolConfig, toolChoice: { tool: { name: 'b' } } } }),
    good: body([user()], { toolConfig: { ...toolConfig, toolChoice: { tool: { name: 'a' } } } }),
  },
  'output-cap': {
    bad: body([user()], { inferenceConfig: { maxTokens: 0 } }),
    good: body([user()], { inferenceConfig: { maxTokens: 1 } }),
  },
  'cache-points': {
    bad: body([user({ text: 'x' }, point, point, point, point, point)]),
    good: body([user({ text: 'x' }, point, point, point, point)]),
  },
}
