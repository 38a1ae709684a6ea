export interface LoopOptions {
  readonly steps: number
  /** Characters of each result. */
  readonly resultLength?: number | ((step: number) => number)
  readonly task?: string
  readonly maxTokens?: number
  readonly thinking?: boolean
}

type Message = { role: string; content: unknown }

/** An agent's history: one task, then tool steps. Message k is the same object in every longer history. */
export function toolLoop(options: LoopOptions): {
  model: string
  max_tokens: number
  tools: unknown[]
  messages: Message[]
} {
  const { steps, resultLength = 400, task = 'Find the bug in the parser.', maxTokens = 512, thinking = false } = options
  const messages: Message[] = [{ role: 'user', content: task }]
  for (let step = 1; step <= steps; step++) {
    const length = typeof resultLength === 'number' ? resultLength : resultLength(step)
    const before = thinking ? [{ type: 'thinking', thinking: `thought ${step}`, signature: `sig${step}` }] : []
    messages.push({
      role: 'assistant',
      content: [
        ...before,
        { type: 'text', text: `Step ${step}.` },
        { type: 'tool_use', id: `toolu_${step}`, name: 'read', input: { path: `src/file-${step}.ts`, limit: 100 } },
      ],
    })
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_${step}`, content: resultText(step, length) }],
    })
  }
  return {
    model: 'claude-sonnet-4-5',
    max_tokens: maxTokens,
    tools: [
      {
        name: 'read',
        description: 'Reads a file.',
        input_schema: { type: 'object', properties: { path: { type: 'string' } } },
      },
    ],
    messages,
  }
}

export function resultText(step: number, length: number): string {
  let text = ''
  for (let line = 1; text.length < length; line++)
    text += `${line}: const value_${step}_${line} = compute(${step * line})\n`
  return text.slice(0, length)
}
