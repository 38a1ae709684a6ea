import { RecordingBuilder } from '../builder.ts'
import { addChatMessage } from '../histories/chat-messages.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Recording } from '../recording.ts'
import { openaiUsage } from '../usage.ts'
import { type Fields, recordsIn, stringOf } from '../../../core/values.ts'
import { at, jsonText, objectOf, optional, timeOf } from '../values.ts'

/** tau-bench results: a list of tasks, each with its Chat Completions history. */
export const tauBench: TranscriptLoader = {
  format: 'tau-bench',
  recognises: (value) =>
    recordsIn(Array.isArray(value) ? value : [value])
      .slice(0, 1)
      .some((task) => Array.isArray(task['traj'])),
  load: (records, context) =>
    records.flatMap(({ value, line }) =>
      recordsIn(Array.isArray(value) ? value : [value]).map((task) => {
        const name = `task ${jsonText(task['task_id'])}, trial ${jsonText(task['trial'] ?? 0)}`
        const builder = new RecordingBuilder({ format: 'tau-bench', wire: 'openai-chat', ...context, name })
        for (const message of recordsIn(task['traj'])) addChatMessage(builder, message, { line }, context.options)
        return builder.build()
      }),
    ),
}

/**
 * tau2-bench results. The agent sees the policy, the user's words and its own tools; the simulated user's tools (telecom) stay
 * on the other side of the conversation.
 */
export const tau2Bench: TranscriptLoader = {
  format: 'tau2-bench',
  recognises: (value) => simulationsOf(value).slice(0, 1).some(isSimulation),
  load: (records, context) =>
    records.flatMap(({ value, line }) =>
      simulationsOf(value).map((simulation) => loadSimulation(objectOf(value), simulation, line, context)),
    ),
}

/** A result file, or (some submissions) the bare list of its simulations. */
const simulationsOf = (value: unknown): readonly Fields[] =>
  recordsIn(Array.isArray(value) ? value : objectOf(value)['simulations'])

const isSimulation = (value: Fields): boolean => Array.isArray(value['messages']) && 'task_id' in value

function loadSimulation(document: Fields, simulation: Fields, line: number, context: LoadContext): Recording {
  const name = `task ${jsonText(simulation['task_id'])}`
  const builder = new RecordingBuilder({ format: 'tau2-bench', wire: 'openai-chat', ...context, name })
  const model = stringOf(at(document, 'info', 'agent_info', 'llm'))
  builder.model(model)
  builder.system(stringOf(at(document, 'info', 'environment_info', 'policy')) ?? stringOf(simulation['policy']) ?? '')
  let userSpoke = false
  for (const message of recordsIn(simulation['messages'])) {
    if (message['requestor'] === 'user') continue
    if (message['role'] === 'user') {
      const text = stringOf(message['content']) ?? ''
      if (text === '') continue
      userSpoke = true
    }
    const meta = {
      line,
      // The greeting is a constant of the benchmark.
      isCall: userSpoke,
      ...optional('model', model),
      ...optional('usage', openaiUsage(message['usage'])),
      ...optional('at', timeOf(message['timestamp'])),
    }
    addChatMessage(builder, asChat(message), meta, context.options)
  }
  return builder.build()
}

/** tau2 flattens calls to `{ id, name, arguments }` and gives a result the id of its call. */
function asChat(message: Fields): Fields {
  if (message['role'] === 'tool') {
    return { role: 'tool', tool_call_id: message['id'], content: stringOf(message['content']) ?? '' }
  }
  const calls = message['role'] === 'assistant' ? recordsIn(message['tool_calls']) : []
  return {
    role: message['role'],
    content: message['content'] ?? null,
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: call['id'],
        type: 'function',
        function: { name: call['name'], arguments: jsonText(call['arguments'] ?? {}) },
      })),
    }),
  }
}
