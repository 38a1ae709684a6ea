import { createToolRegistry, show, type ToolRegistry } from '../intake/index.ts'
import { readerNames } from '../readers/reader-tools.ts'
import type { Presenter } from '../deps.ts'

/** Shows the best view of a long output under a token budget, by what the output is and which tool wrote it. */
export const presenter =
  (registry: ToolRegistry = createToolRegistry()): Presenter =>
  (output, options) =>
    show(output, { ...options, registry, readers: readerNames(options.readers) })

export const presentText = presenter()
