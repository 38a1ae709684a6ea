import { createSseParser } from '../../../formats/framing/sse.ts'
import { anthropicMessages } from '../../../formats/anthropic-messages/index.ts'
import { MODEL, SYSTEM, TASK, TOOLS, toolOutput } from './incident.ts'

type Block = Readonly<Record<string, unknown>>
interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly Block[]
}

/** One call of the model as the agent sees it. */
export interface AgentTurn {
  readonly number: number
  readonly tool?: string
  readonly text: string
  /** The whole request as the agent wrote it: what would have been sent without us. */
  readonly body: string
  readonly headers: Headers
}

/** A plain agent: it resends its whole history with every call and knows nothing about windows. */
export async function* runAgent(baseUrl: string): AsyncGenerator<AgentTurn> {
  const messages: Message[] = [{ role: 'user', content: TASK }]
  for (let number = 1; ; number++) {
    const body = JSON.stringify({
      model: MODEL,
      max_tokens: 1_024,
      stream: true,
      system: [{ type: 'text', text: SYSTEM, cache_control: { type: 'ephemeral' } }],
      tools: TOOLS,
      messages: messages.map((message, i) => (i === messages.length - 1 ? marked(message) : message)),
    })
    const response = await fetch(`${baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'demo', 'anthropic-version': '2023-06-01' },
      body,
    })
    if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`)
    const parser = createSseParser()
    const reducer = anthropicMessages.stream()
    for await (const chunk of response.body) parser.push(chunk).forEach((event) => reducer.push(event))
    const { items } = reducer.response()
    const text = items.find((item) => item.kind === 'assistant')?.text ?? ''
    const call = items.find((item) => item.kind === 'call')
    yield {
      number,
      text,
      body,
      headers: response.headers,
      ...(call?.toolName !== undefined && { tool: call.toolName }),
    }
    if (call === undefined) return
    const input = JSON.parse(call.text) as { step: number }
    messages.push(
      {
        role: 'assistant',
        content: [
          { type: 'text', text },
          { type: 'tool_use', id: call.callId, name: call.toolName, input },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.callId, content: toolOutput(input.step) }] },
    )
  }
}

/** Coding agents mark the newest block for the prompt cache. */
function marked(message: Message): Message {
  const blocks = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  const last = blocks.length - 1
  return {
    ...message,
    content: blocks.map((block, i) => (i === last ? { ...block, cache_control: { type: 'ephemeral' } } : block)),
  }
}
