import { type Fields, isRecord, listOf, recordOf, recordsIn } from '../../core/values.ts'
import { messageAsGiven, checkBody, isBlank, quoted, type RuleBook, type RuleContext, shown } from '../kit/rules.ts'
import { isCachePoint, toolName } from './decode.ts'

const MAX_CACHE_POINTS = 4

/** The rules of Converse, in the words of the vendor. */
export const CONVERSE_RULES = {
  'body-shape': messageAsGiven,
  'well-formed-text': 'Malformed input request: a string is not well formed, please reformat your input and try again.',
  'starts-with-user':
    'A conversation must start with a user message. Try again with a conversation that starts with a user message.',
  'roles-alternate':
    'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user ' +
    'and assistant roles and try again.',
  'no-empty-content': (path: string) =>
    `The content field in the Message object at ${path} is empty. Add a ContentBlock object to the content field and try again.`,
  'no-empty-text': (path: string) =>
    `The text field in the ContentBlock object at ${path} is blank. Add text to the text field, and try again.`,
  'results-follow-calls': (path: string, ids: string) =>
    `Expected toolResult blocks at ${path} for the following Ids: ${ids}`,
  'results-have-calls': (path: string) =>
    `The number of toolResult blocks at ${path} exceeds the number of toolUse blocks of previous turn.`,
  'unique-call-ids': (path: string, id: string) => `The toolUse blocks at ${path} contain duplicate Ids: ${id}`,
  'unique-result-ids': (path: string, id: string) => `The toolResult blocks at ${path} contain duplicate Ids: ${id}`,
  'history-tools-declared': 'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  'tools-filled': 'The tools field in toolConfig must have at least one toolSpec or systemTool.',
  'tool-name-format': (path: string) =>
    `The value at ${path} failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]{1,64}`,
  'unique-tool-names': (name: string) => `The tool ${name} is already defined in toolConfig.tools.`,
  'tool-choice-known': (name: string) => `The tool ${name} that toolChoice names is not defined in toolConfig.tools.`,
  'output-cap': 'The value of maxTokens in inferenceConfig must be an integer of at least 1.',
  'cache-points': (count: string) =>
    `At most ${MAX_CACHE_POINTS} cachePoint blocks are allowed; the request has ${count}.`,
} as const satisfies RuleBook

type Context = RuleContext<typeof CONVERSE_RULES>

/** The rules of Converse. The path names the model on this wire, not the body. */
export const checkConverse = checkBody(CONVERSE_RULES, 'The request body is not a JSON object.', (context) => {
  checkEnvelope(context)
  checkTools(context)
  checkMessages(context)
  checkPairs(context)
})

function checkEnvelope({ body, found }: Context): void {
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    found.report('body-shape', 'messages', 'The messages field is empty. Add a Message object and try again.')
  const cap = recordOf(body.inferenceConfig)?.maxTokens ?? 1
  if (typeof cap !== 'number' || !Number.isInteger(cap) || cap < 1)
    found.report('output-cap', 'inferenceConfig.maxTokens')
  if (body.system !== undefined && !Array.isArray(body.system))
    found.report('body-shape', 'system', 'The system field must be a list of SystemContentBlock objects.')
  recordsIn(body.system).forEach(({ text }, index) => {
    if (typeof text === 'string' && isBlank(text)) found.report('no-empty-text', `system.${index}`, `system.${index}`)
  })
  const lists = [
    body.system,
    recordOf(body.toolConfig)?.tools,
    ...recordsIn(body.messages).map(({ content }) => content),
  ]
  const points = lists.reduce<number>((sum, list) => sum + listOf(list).filter(isCachePoint).length, 0)
  if (points > MAX_CACHE_POINTS) found.report('cache-points', '', String(points))
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

function checkTools({ body, found }: Context): void {
  const config = recordOf(body.toolConfig)
  if (config === undefined) return
  const names = new Set<string>()
  const declared = recordsIn(config.tools).filter((tool) => !isCachePoint(tool))
  if (declared.length === 0) found.report('tools-filled', 'toolConfig.tools')
  declared.forEach((tool, index) => {
    const name = toolName(tool)
    const path = `toolConfig.tools.${index}.member.toolSpec.name`
    if (!TOOL_NAME.test(name)) found.report('tool-name-format', path, path)
    else if (names.has(name)) found.report('unique-tool-names', path, name)
    names.add(name)
  })
  const named = recordOf(recordOf(config.toolChoice)?.tool)?.name
  if (named !== undefined && !names.has(shown(named)))
    found.report('tool-choice-known', 'toolConfig.toolChoice', shown(named))
}

const callsIn = (blocks: readonly Fields[]): readonly Fields[] => recordsIn(blocks.map(({ toolUse }) => toolUse))
const resultsIn = (blocks: readonly Fields[]): readonly Fields[] =>
  recordsIn(blocks.map(({ toolResult }) => toolResult))

function checkMessages({ body, found }: Context): void {
  let before: unknown
  listOf(body.messages).forEach((message, index) => {
    const path = `messages.${index}`
    if (!isRecord(message) || (message.role !== 'user' && message.role !== 'assistant')) {
      found.report('body-shape', path, `The role at ${path} must be one of: user, assistant.`)
      return
    }
    if (index === 0 && message.role !== 'user') found.report('starts-with-user', path)
    if (message.role === before) found.report('roles-alternate', path)
    before = message.role
    const content = listOf(message.content)
    if (content.length === 0) found.report('no-empty-content', path, path)
    content.forEach((block, at) => {
      const where = `${path}.content.${at}`
      if (!isRecord(block) || Object.keys(block).length !== 1)
        found.report('body-shape', where, `The ContentBlock object at ${where} must set one of its fields.`)
      else if (typeof block.text === 'string' && isBlank(block.text)) found.report('no-empty-text', where, where)
    })
  })
}

/** Calls are answered in the next message, all of them and each once. What the provider runs is answered by itself. */
function checkPairs({ body, found }: Context): void {
  let open: readonly string[] = []
  let isUsed = false
  const idsIn = (blocks: readonly Fields[]): string[] => blocks.map(({ toolUseId }) => shown(toolUseId))
  const duplicate = (ids: readonly string[]): string | undefined => {
    const seen = new Set<string>()
    return ids.find((id) => seen.size === seen.add(id).size)
  }
  const messages = recordsIn(body.messages)
  messages.forEach((message, index) => {
    const path = `messages.${index}.content`
    const blocks = recordsIn(message.content)
    const calls = idsIn(callsIn(blocks).filter(({ type }) => type !== 'server_tool_use'))
    const results = message.role === 'user' ? idsIn(resultsIn(blocks)) : []
    const answered = new Set(results)
    const missing = open.filter((id) => !answered.has(id))
    if (missing.length > 0) found.report('results-follow-calls', path, path, quoted(missing))
    const known = new Set(open)
    if (results.some((id) => !known.has(id))) found.report('results-have-calls', path, path)
    const twice = duplicate(results)
    if (twice !== undefined) found.report('unique-result-ids', path, path, twice)
    const again = duplicate(calls)
    if (again !== undefined) found.report('unique-call-ids', path, path, again)
    open = calls
    isUsed ||= calls.length + results.length > 0
  })
  if (open.length > 0) {
    const path = `messages.${messages.length}.content`
    found.report('results-follow-calls', path, path, quoted(open))
  }
  if (isUsed && recordOf(body.toolConfig) === undefined) found.report('history-tools-declared', 'toolConfig')
}
