import { type Fields, isRecord, listOf, recordsIn, stringOf, textOf } from '../../../core/values.ts'
import { RecordingBuilder } from '../builder.ts'
import { usageOn } from '../shapes.ts'
import type { LoadContext, RecordedTool, Recording, TranscriptLoader } from '../recording.ts'
import { at, jsonText, objectOf, timeOf, withoutKeys } from '../values.ts'

/**
 * OpenHands' event log: actions of the agent and observations of its tools. Newer events contain the model's response (repeated in every event that
 * it led to); older ones only the action's arguments.
 */
export const openHands: TranscriptLoader = {
  format: 'openhands',
  recognises(value) {
    const events = isRecord(value) ? value['history'] : value
    const [first] = recordsIn(events)
    return first !== undefined && ('action' in first || 'observation' in first)
  },
  load: (values, context) =>
    values.map(({ value, line }) => {
      const document = objectOf(value)
      const events = Array.isArray(value) ? value : document['history']
      return loadEvents(recordsIn(events), document, line, context)
    }),
}

function loadEvents(events: readonly Fields[], document: Fields, line: number, context: LoadContext): Recording {
  const name = stringOf(document['instance_id']) ?? stringOf(at(document, 'issue', 'title'))
  const builder = new RecordingBuilder({
    format: 'openhands',
    wire: 'openai-chat',
    ...context,
    name,
  })
  builder.model(stringOf(at(document, 'metadata', 'llm_config', 'model')))
  const answered = new Set<string>()
  let lastCall: string | undefined
  let count = 0
  for (const event of events) {
    const metadata = event['tool_call_metadata']
    if (event['action'] === 'system') {
      builder.system(textOf(at(event, 'args', 'content')))
      builder.tools(toolsIn(at(event, 'args', 'tools')))
    } else if (isRecord(metadata)) {
      if ('action' in event) addResponse(builder, event, metadata, answered, line)
      else builder.user([resultOf(metadata['tool_call_id'], event)], line)
    } else if ('action' in event) {
      const id = `call_${++count}`
      if (addPlainAction(builder, event, id, line)) lastCall = id
    } else if (lastCall !== undefined && !HIDDEN.has(textOf(event['observation']))) {
      builder.user([resultOf(lastCall, event)], line)
      lastCall = undefined
    }
  }
  return builder.build()
}

const resultOf = (id: unknown, { content }: Fields): Fields => ({
  role: 'tool',
  tool_call_id: id,
  content: textOf(content),
})

/** Reads `[{ type: 'function', function: { name, … } }]`. */
const toolsIn = (tools: unknown): readonly RecordedTool[] =>
  recordsIn(tools).map((tool) => ({ name: textOf(at(tool, 'function', 'name')), json: JSON.stringify(tool) }))

/** Internal events that the agent's model never sees. */
const HIDDEN = new Set(['recall', 'agent_state_changed', 'null', 'change_agent_state', 'condensation'])

function addResponse(
  builder: RecordingBuilder,
  event: Fields,
  metadata: Fields,
  answered: Set<string>,
  line: number,
): void {
  const response = objectOf(metadata['model_response'])
  const id = stringOf(response['id']) ?? `event-${jsonText(event['id'])}`
  if (answered.has(id)) return
  answered.add(id)
  const message = objectOf(at(recordsIn(response['choices'])[0], 'message'))
  const calls = recordsIn(message['tool_calls']).map((call) => withoutKeys(call, ['index']))
  const tool_calls = calls.length > 0 ? calls : undefined
  builder.answer({
    pieces: [{ role: 'assistant', content: message['content'] ?? null, tool_calls }],
    line,
    usage: usageOn('openai-chat', response['usage']),
    model: stringOf(response['model']),
    at: timeOf(event['timestamp']),
  })
}

/** Adds an action that has no model response: a message of user or agent, or a call reconstructed from its arguments. True if a result follows. */
function addPlainAction(builder: RecordingBuilder, event: Fields, id: string, line: number): boolean {
  const name = textOf(event['action'])
  const own = ['action', 'id', 'timestamp', 'source', 'message']
  const args = isRecord(event['args']) ? event['args'] : withoutKeys(event, own)
  if (HIDDEN.has(name)) return false
  const at = timeOf(event['timestamp'])
  if (name === 'message') {
    const content = textOf(args['content'])
    if (event['source'] === 'agent') builder.answer({ pieces: [content], line, at })
    else if (content !== '') builder.user([content], line)
    return false
  }
  const thought = textOf(args['thought'])
  const input = withoutKeys(args, ['thought', 'is_confirmed', 'action_risk', 'keep_prompt', 'kernel_init_code'])
  const call = { id, type: 'function', function: { name, arguments: jsonText(input) } }
  const message = { role: 'assistant', content: thought === '' ? null : thought, tool_calls: [call] }
  builder.answer({ pieces: [message], line, at })
  return true
}

/** SWE-agent's `.traj`: `history` is what the model saw, `trajectory` the same in steps. */
export const sweAgent: TranscriptLoader = {
  format: 'swe-agent',
  recognises: (value) =>
    isRecord(value) && Array.isArray(value['trajectory']) && (Array.isArray(value['history']) || 'info' in value),
  load: (values, context) =>
    values.flatMap(({ value, line }) => (isRecord(value) ? [loadTrajectory(value, line, context)] : [])),
}

function loadTrajectory(document: Fields, line: number, context: LoadContext): Recording {
  const name = stringOf(document['environment'])
  const builder = new RecordingBuilder({
    format: 'swe-agent',
    wire: 'openai-chat',
    ...context,
    name,
  })
  builder.model(stringOf(at(document, 'info', 'model_name')))
  for (const message of recordsIn(document['history'])) {
    // A demonstration contains answers of another run, which are not calls of this one.
    const isCall = message['is_demo'] !== true
    builder.chat(asChatMessage(message), { line, isCall })
  }
  return builder.build()
}

/** Keeps the wire's keys and removes SWE-agent's (agent, thought, action, message type). */
function asChatMessage(message: Fields): Fields {
  const role = stringOf(message['role']) ?? 'user'
  const callId = stringOf(message['tool_call_id']) ?? stringOf(listOf(message['tool_call_ids'])[0])
  const calls = recordsIn(message['tool_calls'])
  return {
    role,
    content: message['content'] ?? '',
    tool_calls: calls.length > 0 ? calls : undefined,
    tool_call_id: role === 'tool' ? callId : undefined,
  }
}

/** tau-bench results: a list of tasks, each with its Chat Completions history. */
export const tauBench: TranscriptLoader = {
  format: 'tau-bench',
  recognises: (value) =>
    recordsIn(Array.isArray(value) ? value : [value])
      .slice(0, 1)
      .some((task) => Array.isArray(task['traj'])),
  load: (values, context) =>
    values.flatMap(({ value, line }) =>
      recordsIn(Array.isArray(value) ? value : [value]).map((task) => {
        const name = `task ${jsonText(task['task_id'])}, trial ${jsonText(task['trial'] ?? 0)}`
        const builder = new RecordingBuilder({ format: 'tau-bench', wire: 'openai-chat', ...context, name })
        for (const message of recordsIn(task['traj'])) builder.chat(message, { line })
        return builder.build()
      }),
    ),
}

/** tau2-bench results. The agent sees the policy, the user's words and its own tools, but not the simulated user's tools (telecom). */
export const tau2Bench: TranscriptLoader = {
  format: 'tau2-bench',
  recognises: (value) => simulationsOf(value).slice(0, 1).some(isSimulation),
  load: (values, context) =>
    values.flatMap(({ value, line }) =>
      simulationsOf(value).map((simulation) => loadSimulation(objectOf(value), simulation, line, context)),
    ),
}

/** A result file or, in some submissions, only the list of its simulations. */
const simulationsOf = (value: unknown): readonly Fields[] =>
  recordsIn(Array.isArray(value) ? value : objectOf(value)['simulations'])

const isSimulation = (value: Fields): boolean => Array.isArray(value['messages']) && 'task_id' in value

function loadSimulation(document: Fields, simulation: Fields, line: number, context: LoadContext): Recording {
  const name = `task ${jsonText(simulation['task_id'])}`
  const builder = new RecordingBuilder({ format: 'tau2-bench', wire: 'openai-chat', ...context, name })
  const model = stringOf(at(document, 'info', 'agent_info', 'llm'))
  builder.model(model)
  builder.system(stringOf(at(document, 'info', 'environment_info', 'policy')) ?? textOf(simulation['policy']))
  let userSpoke = false
  for (const message of recordsIn(simulation['messages'])) {
    if (message['requestor'] === 'user') continue
    if (message['role'] === 'user') {
      const text = textOf(message['content'])
      if (text === '') continue
      userSpoke = true
    }
    const meta = {
      line,
      // The greeting is a constant of the benchmark, not an answer of the model.
      isCall: userSpoke,
      model,
      usage: usageOn('openai-chat', message['usage']),
      at: timeOf(message['timestamp']),
    }
    builder.chat(flatAsChat(message), meta)
  }
  return builder.build()
}

/** tau2 flattens calls to `{ id, name, arguments }` and gives a result its call's id. */
function flatAsChat(message: Fields): Fields {
  if (message['role'] === 'tool') {
    return { role: 'tool', tool_call_id: message['id'], content: textOf(message['content']) }
  }
  const calls = message['role'] === 'assistant' ? recordsIn(message['tool_calls']) : []
  return {
    role: message['role'],
    content: message['content'] ?? null,
    tool_calls: calls.length > 0 ? calls.map(callOf) : undefined,
  }
}

const callOf = ({ id, name, arguments: input = {} }: Fields): Fields => ({
  id,
  type: 'function',
  function: { name, arguments: jsonText(input) },
})
