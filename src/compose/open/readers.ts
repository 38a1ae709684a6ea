import { BoundedMap } from '../../util/bounded-map.ts'
import type { EventBody } from '../../core/events.ts'
import { costOfUsage } from '../../core/price.ts'
import { isInstalled } from '../../drivers/optional-package.ts'
import { quickjsSandbox } from '../../drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../drivers/sandbox/sqljs.ts'
import type { EngineDeps } from '../../engine/deps.ts'
import { COMPACT_READER } from '../../engine/readers/reader-tools.ts'
import type { ExtractAnswer } from '../../engine/readers/extract.ts'
import { artifactReaders, type ArtifactReaders } from '../../engine/readers/artifact-readers.ts'
import type { Sandbox } from '../../ports/sandbox.ts'
import type { SqlEngine } from '../../ports/sql-engine.ts'
import type { Summarizer } from '../../ports/summarizer.ts'

/** Who calls a reader: artifacts of its tenant are read, and its session pays for model calls. */
export interface ReaderOwner {
  readonly tenant: string
  readonly session?: string
  readonly agent?: string
}

export interface OpenReadersOptions {
  readonly deps: () => Promise<Pick<EngineDeps, 'artifacts' | 'provenance' | 'catalogue' | 'meter' | 'clock'>>
  /** @default sql.js where it is installed */
  readonly sql?: SqlEngine | false
  /** @default QuickJS where it is installed */
  readonly sandbox?: Sandbox | false
  /** Reads artifacts for `extract`. */
  readonly extraction?: () => Promise<Summarizer | undefined>
  /** Whether `extraction` will return a model. */
  readonly canExtract: boolean
  readonly emit: (body: EventBody, owner: ReaderOwner) => void
}

export interface OpenReaders {
  of(owner: ReaderOwner): Promise<ArtifactReaders>
  /** The available tools whose declarations fit a window of this size. */
  names(window: number): readonly string[]
  close(): Promise<void>
}

/** All declarations take some 500 tokens of every request; a smaller window gets the compact reader only. */
const AMPLE_WINDOW = 32_000
/** Readers keep line indexes; the least recently used are built again. */
const MOST_OWNERS = 100

/** All artifact readers. SQL and JavaScript engines are loaded on first use. */
export function openReaders(options: OpenReadersOptions): OpenReaders {
  const sql = options.sql ?? (isInstalled('sql.js') ? sqljsEngine() : false)
  const sandbox = options.sandbox ?? (isInstalled('quickjs-wasi') ? quickjsSandbox() : false)
  const names = [
    COMPACT_READER.name,
    ...(sql === false ? [] : ['artifact_query']),
    ...(sandbox === false ? [] : ['artifact_run']),
    ...(options.canExtract ? ['artifact_extract'] : []),
  ]
  const known = new BoundedMap<string, ArtifactReaders>(MOST_OWNERS)

  async function open(owner: ReaderOwner): Promise<ArtifactReaders> {
    const { artifacts, provenance, catalogue, meter, clock } = await options.deps()
    const model = await options.extraction?.()
    const readers = artifactReaders({
      store: artifacts,
      tenant: owner.tenant,
      provenance,
      clock,
      sql: sql || undefined,
      sandbox: sandbox || undefined,
      extraction: model && {
        model,
        tokenizer: { name: 'meter', count: (text) => meter.countText({ model: model.model ?? 'unknown' }, text) },
      },
    })
    const spent = ({ usage, calls }: ExtractAnswer): void => {
      if (calls === 0) return
      const price = model?.model === undefined ? undefined : catalogue.resolve(model.model).info.price
      const costUsd = price === undefined ? undefined : costOfUsage(usage, price)
      options.emit(
        { type: 'usage-recorded', usage, purpose: 'extract', model: model?.model ?? 'unknown', costUsd },
        owner,
      )
    }
    const billed = (all: ArtifactReaders): ArtifactReaders => ({
      ...all,
      async extract(request) {
        const answer = await all.extract(request)
        spent(answer)
        return answer
      },
      within: (call) => billed(all.within(call)),
    })
    return billed(readers)
  }

  return {
    async of(owner) {
      const key = JSON.stringify([owner.tenant, owner.session, owner.agent])
      const found = known.get(key) ?? (await open(owner))
      known.set(key, found)
      return found
    },
    names: (window) => (window < AMPLE_WINDOW ? [COMPACT_READER.name] : names),
    async close() {
      known.clear()
      if (sql !== false) await sql.close()
      if (sandbox !== false) await sandbox.close()
    },
  }
}
