import { DEMO_WIRE } from '../../formats/wires.ts'
import type { Entry } from '../../formats/wire/chat.ts'
import { SYSTEM, TASK, TOOLS, toolOutput } from './incident.ts'

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
  const { chat, codec, endpoint, framing, routes } = DEMO_WIRE
  const model = endpoint.model!
  const entries: Entry[] = [{ type: 'user', text: TASK }]
  for (let number = 1; ; number++) {
    const body = chat.body({ model, maxOutputTokens: 1_024, system: SYSTEM, tools: TOOLS, entries }, endpoint)
    const response = await fetch(baseUrl + routes.path(model, true), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...endpoint.headers('demo') },
      body,
    })
    if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`)
    const parser = framing.parser()
    const reducer = codec.stream()
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
    const [id, name] = [call.callId ?? '', call.toolName ?? '']
    entries.push(
      { type: 'assistant', text, calls: [{ id, name, input }] },
      { type: 'result', callId: id, name, text: toolOutput(input.step), isError: false },
    )
  }
}
