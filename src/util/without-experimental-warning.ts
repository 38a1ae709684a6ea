/** Loads a Node module without printing its ExperimentalWarning (Node 22), which users of a command can do nothing about. Other warnings pass. */
export function withoutExperimentalWarning<T>(load: () => T): T {
  const emit = process.emitWarning
  const filtered = (...given: readonly unknown[]): void => {
    if (given[1] !== 'ExperimentalWarning') Reflect.apply(emit, process, given)
  }
  Reflect.set(process, 'emitWarning', filtered)
  try {
    return load()
  } finally {
    Reflect.set(process, 'emitWarning', emit)
  }
}
