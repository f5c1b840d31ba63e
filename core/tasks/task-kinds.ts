import type { TaskKind } from './ports.ts'
import type { TaskKinds } from './store-ports.ts'

export const makeTaskKinds = (): TaskKinds => {
  const known = new Map<string, TaskKind>()
  return {
    declare: (kinds) => {
      for (const kind of kinds) known.set(kind.kind, kind)
    },
    has: (kind) => known.has(kind),
    all: () => [...known.values()],
  }
}
