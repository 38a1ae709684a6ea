import type { ANTHROPIC_RULES } from '../../../src/formats/anthropic-messages/rules.ts'
import { type RuleCases, LONE, png } from '../case.ts'

type Block = Readonly<Record<string, unknown>>

const text = (value: string, extra: Block = {}): Block => ({ type: 'text', text: value, ...extra })
const use = (id: string, name = 'bash'): Block => ({ type: 'tool_use', id, name, input: {} })
const result = (id: string, content: unknown = 'ok', extra: Block = {}): Block => ({
  type: 'tool_result',
  tool_use_id: id,
  ...(content !== undefined && { content }),
  ...extra,
})
const user = (...content: Block[]) => ({ role: 'user', content })
const assistant = (...content: Block[]) => ({ role: 'assistant', content })
const image = (data: string, media_type = 'image/png'): Block => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
const thinking = (extra: Block = {}): Block => ({ type: 'thinking', thinking: 'hm', signature: 'sig', ...extra })
const mark = (ttl?: string): Block => ({ cache_control: { type: 'ephemeral', ...(ttl !== undefined && { ttl }) } })

const go = user(text('Go'))
const base = { model: 'claude-sonnet-4-5', max_tokens: 2_000 }
const tool = (name: string, extra: Block = {}): Block => ({ name, input_schema: { type: 'object' }, ...extra })
const tools = [tool('bash')]
const body = (messages: unknown, extra: Block = {}) => ({ ...base, messages, ...extra })
const withTools = (messages: unknown, extra: Block = {}) => body(messages, { tools, ...extra })
const on = { thinking: { type: 'enabled', budget_tokens: 1_024 } }
const marked = (count: number) =>
  body([user(...Array.from({ length: count }, (_unused, at) => text(`t${at}`, mark())))])
const search = (id: string): Block => ({ type: 'server_tool_use', id, name: 'web_search', input: {} })
const found = (id: string): Block => ({ type: 'web_search_tool_result', tool_use_id: id, content: [] })
const images = (count: number, side: number) =>
  body([user(...Array.from({ length: count }, () => image(png(side, 10))))])

export const anthropicCases: RuleCases<keyof typeof ANTHROPIC_RULES> = {
  'body-shape': [
    { bad: { ...base, messages: [] }, good: body([go]) },
    { bad: { max_tokens: 10, messages: [go] }, good: body([go]) },
    { bad: { max_tokens: 10, messages: [go] }, good: { max_tokens: 10, messages: [go], model: 'claude-sonnet-4-5' } },
    { bad: body([go], { system: { text: 'x' } }), good: body([go], { system: [text('x')] }) },
  ],
  'max-tokens': [
    { bad: { model: 'm', messages: [go] }, good: body([go]) },
    { bad: body([go], { max_tokens: 0 }), good: body([go], { max_tokens: 1 }) },
    { bad: body([go], { max_tokens: 1.5 }), good: body([go], { max_tokens: 2 }) },
  ],
  'body-bytes': { bad: body([go]), badBytes: 32 * 1024 * 1024 + 1, good: body([go]) },
  'well-formed-text': { bad: body([user(text(LONE))]), good: body([user(text('a whole emoji 🚢'))]) },
  'message-shape': [
    { bad: body([go, { role: 'tool', content: 'x' }]), good: body([go, { role: 'user', content: 'x' }]) },
    { bad: body([{ role: 'user', content: 7 }]), good: body([{ role: 'user', content: '7' }]) },
    { bad: body([user({ text: 'no type' })]), good: body([user(text('no type'))]) },
    { bad: body([user({ type: 'text' })]), good: body([user(text('x'))]) },
  ],
  'first-message-user': {
    bad: body([assistant(text('Hi')), go]),
    good: body([go, assistant(text('Hi')), go]),
    options: { profile: 'bedrock' },
  },
  'system-message-place': [
    {
      bad: body([{ role: 'system', content: 'x' }, go], { model: 'claude-opus-4-8' }),
      good: body([go, { role: 'system', content: 'x' }], { model: 'claude-opus-4-8' }),
    },
    {
      bad: body([go, { role: 'system', content: 'Be brief.' }]),
      good: body([go, { role: 'system', content: 'Be brief.' }], { model: 'claude-opus-4-8' }),
    },
    {
      bad: body([go, assistant(text('Hi')), { role: 'system', content: 'x' }, go], { model: 'claude-opus-4-8' }),
      good: body([go, assistant(text('Hi')), go, { role: 'system', content: 'x' }], { model: 'claude-opus-4-8' }),
    },
  ],
  'no-prefill': {
    bad: body([go, assistant(text('The answer is'))], { model: 'claude-opus-4-6' }),
    good: body([go, assistant(text('The answer is'))]),
  },
  'no-trailing-space': { bad: body([go, assistant(text('So: '))]), good: body([go, assistant(text('So:'))]) },
  'no-empty-content': [
    { bad: body([go, assistant(), go]), good: body([go, assistant(text('x')), go]) },
    { bad: body([{ role: 'user', content: '' }]), good: body([{ role: 'user', content: 'x' }]) },
  ],
  'no-empty-text': [
    { bad: body([user(text(''))]), good: body([user(text('x'))]) },
    { bad: body([user(text(' \n'))]), good: body([user(text(' \nx'))]) },
    { bad: body([go], { system: [text('')] }), good: body([go], { system: [text('x')] }) },
    {
      bad: withTools([go, assistant(use('a')), user(result('a', [text('')]))]),
      good: withTools([go, assistant(use('a')), user(result('a', [text('(no output)')]))]),
    },
  ],
  'block-role': [
    { bad: body([user(text('x'), thinking())]), good: body([user(text('x'))]) },
    {
      bad: body([go, assistant(text('x'), image(png(1, 1))), go]),
      good: body([go, assistant(text('x')), user(image(png(1, 1)))]),
    },
  ],
  'calls-answered': [
    {
      bad: withTools([go, assistant(use('a')), go]),
      good: withTools([go, assistant(use('a')), user(result('a'), text('Go'))]),
    },
    {
      bad: withTools([go, assistant(use('a'), use('b')), user(result('a'))]),
      good: withTools([go, assistant(use('a'), use('b')), user(result('b'), result('a'))]),
    },
    { bad: withTools([go, assistant(use('a'))]), good: withTools([go, assistant(use('a')), user(result('a'))]) },
    {
      bad: withTools([go, assistant(use('a')), assistant(text('x')), go, user(text('y'))]),
      good: withTools([go, assistant(use('a')), assistant(text('x')), user(result('a')), user(text('y'))]),
    },
  ],
  'results-have-calls': [
    {
      bad: withTools([go, assistant(text('x')), user(result('a'))]),
      good: withTools([go, assistant(use('a')), user(result('a'))]),
    },
    { bad: withTools([user(result('a'))]), good: withTools([go, assistant(use('a')), user(result('a'))]) },
    {
      // The call exists, but a turn too early: position decides, not the id.
      bad: withTools([go, assistant(use('a')), user(result('a')), assistant(text('x')), user(result('a'))]),
      good: withTools([go, assistant(use('a')), user(result('a')), assistant(use('b')), user(result('b'))]),
    },
  ],
  'results-once': {
    bad: withTools([go, assistant(use('a')), user(result('a'), result('a'))]),
    good: withTools([go, assistant(use('a')), user(result('a'))]),
  },
  'results-first': {
    bad: withTools([go, assistant(use('a')), user(text('Look:'), result('a'))]),
    good: withTools([go, assistant(use('a')), user(result('a'), text('Look:'))]),
  },
  'error-result-content': {
    bad: withTools([go, assistant(use('a')), user(result('a', '', { is_error: true }))]),
    good: withTools([go, assistant(use('a')), user(result('a', 'exit code 1', { is_error: true }))]),
  },
  'unique-call-ids': {
    bad: withTools([go, assistant(use('a')), user(result('a')), assistant(use('a')), user(result('a'))]),
    good: withTools([go, assistant(use('a')), user(result('a')), assistant(use('b')), user(result('b'))]),
  },
  'call-id-format': {
    bad: withTools([go, assistant(use('a.b')), user(result('a.b'))]),
    good: withTools([go, assistant(use('a-b')), user(result('a-b'))]),
  },
  'server-tool-pairs': [
    {
      bad: body([go, assistant(found('s1'), text('x')), go]),
      good: body([go, assistant(search('s1'), found('s1'), text('x')), go]),
    },
    {
      bad: body([go, assistant(search('s1'), text('x')), go]),
      good: body([go, assistant(search('s1'), found('s1'), text('x')), go]),
    },
    {
      // Types that nobody has named yet are paired by their structure.
      bad: body([go, assistant({ type: 'x_tool_result', tool_use_id: 'x1' }), go]),
      good: body([go, assistant({ type: 'x_tool_use', id: 'x1' }, { type: 'x_tool_result', tool_use_id: 'x1' }), go]),
    },
  ],
  'history-tools-declared': {
    bad: body([go, assistant(use('a')), user(result('a'))]),
    good: withTools([go, assistant(use('a')), user(result('a'))]),
    options: { profile: 'bedrock' },
  },
  'tool-choice-needs-tools': [
    { bad: body([go], { tool_choice: { type: 'auto' } }), good: withTools([go], { tool_choice: { type: 'auto' } }) },
    {
      bad: withTools([go], { tool_choice: { type: 'tool', name: 'grep' } }),
      good: withTools([go], { tool_choice: { type: 'tool', name: 'bash' } }),
    },
  ],
  'unique-tool-names': {
    bad: body([go], { tools: [tool('a'), tool('a')] }),
    good: body([go], { tools: [tool('a'), tool('b')] }),
  },
  'tool-name-format': { bad: body([go], { tools: [tool('a b')] }), good: body([go], { tools: [tool('a_b')] }) },
  'deferred-tools': {
    bad: body([go], { tools: [tool('a', { defer_loading: true })] }),
    good: body([go], {
      tools: [{ type: 'tool_search_tool_bm25_20251119', name: 'search' }, tool('a', { defer_loading: true })],
    }),
  },
  'tool-reference-declared': {
    bad: withTools([go, assistant(use('a')), user(result('a', [{ type: 'tool_reference', tool_name: 'grep' }]))]),
    good: withTools([go, assistant(use('a')), user(result('a', [{ type: 'tool_reference', tool_name: 'bash' }]))]),
  },
  'cache-marks-max': [
    { bad: marked(5), good: marked(4) },
    {
      bad: body([user(text('a', mark()), text('b', mark()), text('c', mark()))], {
        tools: [tool('a', mark())],
        system: [text('s', mark())],
      }),
      good: body([user(text('a'), text('b', mark()), text('c', mark()))], {
        tools: [tool('a', mark())],
        system: [text('s', mark())],
      }),
    },
    { bad: { ...marked(4), ...mark() }, good: { ...marked(3), ...mark() } },
  ],
  'cache-mark-place': {
    bad: withTools([go, assistant(thinking(mark()), text('x')), go]),
    good: withTools([go, assistant(thinking(), text('x', mark())), go]),
  },
  'cache-mark-shape': { bad: body([user(text('a', mark('2h')))]), good: body([user(text('a', mark('1h')))]) },
  'cache-ttl-order': {
    bad: body([user(text('a', mark()), text('b', mark('1h')))]),
    good: body([user(text('a', mark('1h')), text('b', mark()))]),
  },
  'thinking-shape': [
    {
      bad: body([go, assistant(thinking({ signature: '' }), text('x')), go]),
      good: body([go, assistant(thinking(), text('x')), go]),
    },
    {
      bad: body([go, assistant({ type: 'redacted_thinking' }, text('x')), go]),
      good: body([go, assistant({ type: 'redacted_thinking', data: 'ZGF0YQ==' }, text('x')), go]),
    },
  ],
  'thinking-first': {
    bad: withTools([go, assistant(use('a')), user(result('a'))], on),
    good: withTools([go, assistant(thinking(), use('a')), user(result('a'))], on),
  },
  'thinking-budget': [
    { bad: body([go], { thinking: { type: 'enabled', budget_tokens: 1_000 } }), good: body([go], on) },
    { bad: body([go], { ...on, max_tokens: 1_024 }), good: body([go], { ...on, max_tokens: 1_025 }) },
  ],
  'thinking-mode': [
    {
      bad: body([go], { ...on, model: 'claude-opus-4-7' }),
      good: body([go], { thinking: { type: 'adaptive' }, model: 'claude-opus-4-7' }),
    },
    { bad: body([go], { thinking: { type: 'adaptive' } }), good: body([go], on) },
  ],
  'thinking-forced-tool': [
    {
      bad: withTools([go], { ...on, tool_choice: { type: 'any' } }),
      good: withTools([go], { ...on, tool_choice: { type: 'auto' } }),
    },
    {
      bad: withTools([go], { ...on, model: 'claude-opus-4-6', tool_choice: { type: 'any' } }),
      good: withTools([go], { thinking: { type: 'adaptive' }, model: 'claude-opus-4-6', tool_choice: { type: 'any' } }),
    },
  ],
  'thinking-temperature': { bad: body([go], { ...on, temperature: 0 }), good: body([go], { ...on, temperature: 1 }) },
  'clear-thinking-needs-thinking': {
    bad: body([go], { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } }),
    good: body([go], { ...on, context_management: { edits: [{ type: 'clear_thinking_20251015' }] } }),
  },
  'image-type': [
    { bad: body([user(image(png(1, 1), 'image/bmp'))]), good: body([user(image(png(1, 1)))]) },
    { bad: body([user(image(png(1, 1), 'image/jpeg'))]), good: body([user(image(png(1, 1)))]) },
  ],
  'image-bytes': { bad: body([user(image(png(1, 1, 4_000_000)))]), good: body([user(image(png(1, 1, 3_900_000)))]) },
  'image-pixels': [
    { bad: images(1, 8_001), good: images(1, 8_000) },
    { bad: images(21, 2_001), good: images(20, 2_001) },
    {
      bad: withTools([go, assistant(use('a')), user(result('a', [image(png(9_000, 1))]))]),
      good: withTools([go, assistant(use('a')), user(result('a', [image(png(900, 1))]))]),
    },
  ],
}
