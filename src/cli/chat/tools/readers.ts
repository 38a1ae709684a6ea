import type { Handle } from '../../../core/handles.ts'
import { compactCall, readerTools as declaredReaders } from '../../../engine/readers/reader-tools.ts'
import { artifactReaders } from '../../../engine/readers/artifact-readers.ts'
import { readerProvenance } from '../../../engine/readers/provenance.ts'
import { callReader, READER_TOOLS } from '../../../engine/readers/tools.ts'
import { quickjsSandbox } from '../../../drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../../drivers/sandbox/sqljs.ts'
import type { Stores } from '../../stores/open.ts'
import type { ToolDeclared } from '../../../formats/wire/chat.ts'
import type { Fields } from './tool.ts'

/** The tools that give back what was taken out. They answer from the store and are not asked about. */
export interface ReaderTools {
  readonly declared: readonly ToolDeclared[]
  /** Undefined when the name is none of ours. */
  call(name: string, input: Fields): Promise<string> | undefined
  close(): Promise<void>
}

const MOST_HITS = 20

export function readerTools(stores: Stores, tenant: string, session: () => string): ReaderTools {
  const sql = sqljsEngine()
  const sandbox = quickjsSandbox()
  const readers = artifactReaders({
    store: stores.artifacts,
    tenant,
    provenance: readerProvenance(stores.secret),
    sql,
    sandbox,
  })
  // Extraction asks a model of its own, which a chat has not.
  const names = READER_TOOLS.map(({ name }) => name).filter((name) => name !== 'artifact_extract')
  return {
    declared: declaredReaders(names),
    call(called, given) {
      // What this conversation put away, and nothing of the others in the store.
      const own = readers.within({ mayOpen: (handle) => isOf(stores, tenant, session(), handle) })
      const { name, input } = compactCall({ name: called, input: given })
      if (name === 'recall') return recalled(stores, tenant, session(), given)
      return callReader(own, name, input)?.then(({ text }) => text)
    },
    async close() {
      await sql.close()
      await sandbox.close()
    },
  }
}

const PAGE = 500

async function isOf(stores: Stores, tenant: string, session: string, handle: Handle): Promise<boolean> {
  let after: Handle | undefined
  for (;;) {
    const page = await stores.artifacts.list(tenant, { session, limit: PAGE, ...(after !== undefined && { after }) })
    if (page.some((one) => one.handle === handle)) return true
    after = page.at(-1)?.handle
    if (page.length < PAGE) return false
  }
}

async function recalled(stores: Stores, tenant: string, session: string, input: Fields): Promise<string> {
  const query = typeof input['query'] === 'string' ? input['query'] : ''
  const limit = typeof input['limit'] === 'number' ? Math.min(MOST_HITS, Math.max(1, input['limit'])) : 5
  const hits = await stores.sessions.search(tenant, query, { session, limit })
  return hits.length === 0
    ? 'Nothing was found. Try other words.'
    : hits.map(({ version, excerpt }) => `[${version}] ${excerpt}`).join('\n\n')
}
