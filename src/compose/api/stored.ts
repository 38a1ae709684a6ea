import { ARCHIVE_ARGUMENTS, ARTIFACT_ARGUMENTS } from '../../settings/session-shapes.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import { archiveFace, type Archive } from './archive.ts'
import { artifactFace, type Artifacts } from './artifacts.ts'
import { checkedFace } from './checked-face.ts'
import type { OpenEngine } from '../open/engine.ts'
import type { OpenReaders } from '../open/readers.ts'

/** What the stores hold, for programs: artifacts by their handles, sessions by their names. */
export const storedApi = (
  sessions: SessionStore,
  engine: Pick<OpenEngine, 'artifacts' | 'deps'>,
  readers: OpenReaders,
): { readonly artifacts: Artifacts; readonly archive: Archive } => ({
  artifacts: checkedFace(artifactFace(engine.artifacts, readers), ARTIFACT_ARGUMENTS),
  archive: checkedFace(archiveFace({ sessions, deps: engine.deps, readers }), ARCHIVE_ARGUMENTS, ['read', 'readers']),
})
