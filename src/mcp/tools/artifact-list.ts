import type { Handle } from '../../core/handles.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import type { Reach } from '../scope.ts'
import { ownerOf } from './reader-tools.ts'
import { inputOf, listOf, NUMBER, output, TEXT, type McpTool } from './tool.ts'

const DEFAULT_SHOWN = 20
const MOST_SHOWN = 100

/** The newest artifacts that this client may open. */
export function artifactList(reach: Reach): McpTool {
  return {
    name: 'artifact_list',
    title: 'List stored outputs',
    description:
      'Lists tool outputs that were stored whole, the newest first: handle, size, tool. The other artifact tools take the handle.',
    inputSchema: inputOf({
      tool: { type: 'string', description: 'Only outputs of this tool.' },
      limit: { type: 'integer', description: `At most so many; ${DEFAULT_SHOWN} if not given, ${MOST_SHOWN} at most.` },
      after: { type: 'string', description: 'The last handle of the page before.' },
      ...(reach.session === undefined && {
        session: { type: 'string' as const, description: 'Only this conversation, by its session name.' },
      }),
    }),
    outputSchema: output({
      artifacts: listOf(
        output({ handle: TEXT, bytes: NUMBER, createdAt: NUMBER, tool: TEXT, lines: NUMBER }, [
          'handle',
          'bytes',
          'createdAt',
        ]),
      ),
    }),
    isReadOnly: true,
    async run({ tool, limit, after, session }) {
      const wanted = Math.min(MOST_SHOWN, Math.max(1, (limit as number | undefined) ?? DEFAULT_SHOWN))
      const found = await artifactsIn(reach, wanted, {
        ...(typeof tool === 'string' && { tool }),
        ...(typeof after === 'string' && { after }),
        ...(typeof session === 'string' && { session }),
      })
      const text = found.length === 0 ? 'No output is stored.' : found.map(lineOf).join('\n')
      return { ok: true, text: `${text}${await leftOut(reach)}`, data: { artifacts: found.map(shortOf) } }
    },
  }
}

/** Stores of 0.2.0 did not write down which agent an output belongs to, so an agent's list cannot hold it, and says so. */
async function leftOut(reach: Reach): Promise<string> {
  if (reach.agent === undefined) return ''
  const { length } = await reach.plimsoll.archive.readers(ownerOf(reach)).unattributed()
  if (length === 0) return ''
  const outputs = length === 1 ? '1 output' : `${length} outputs`
  return `\n\n${outputs} of this conversation were stored by an older version, which did not write down whose they are. They are not listed and do not open for one agent; a client without an agent in its scope can read them.`
}

/** Pages are read until there are enough: where one agent may look, some of each page are another's. */
export async function artifactsIn(
  reach: Reach,
  wanted: number,
  filter: { readonly tool?: string; readonly after?: Handle; readonly session?: string } = {},
): Promise<readonly ArtifactStat[]> {
  const { plimsoll, tenant, session = filter.session, agent } = reach
  const { mayOpen } = plimsoll.archive.readers(ownerOf(reach))
  const found: ArtifactStat[] = []
  let { after } = filter
  for (;;) {
    const page = await plimsoll.artifacts.list({
      tenant,
      limit: MOST_SHOWN,
      ...(session !== undefined && { session }),
      ...(filter.tool !== undefined && { tool: filter.tool }),
      ...(after !== undefined && { after }),
    })
    for (const stat of page) if (agent === undefined || (await mayOpen(stat.handle))) found.push(stat)
    after = page.at(-1)?.handle
    if (found.length >= wanted || page.length < MOST_SHOWN) return found.slice(0, wanted)
  }
}

const lineOf = ({ handle, bytes, lines, tool, createdAt }: ArtifactStat): string =>
  [
    handle,
    `${bytes.toLocaleString('en-US')} bytes`,
    ...(lines === undefined ? [] : [`${lines.toLocaleString('en-US')} lines`]),
    ...(tool === undefined ? [] : [`of ${tool}`]),
    new Date(createdAt).toISOString(),
  ].join('  ')

const shortOf = ({ handle, bytes, createdAt, lines, tool, mime, contentKind }: ArtifactStat): object => ({
  handle,
  bytes,
  createdAt,
  ...(lines !== undefined && { lines }),
  ...(tool !== undefined && { tool }),
  ...(mime !== undefined && { mime }),
  ...(contentKind !== undefined && { contentKind }),
})
