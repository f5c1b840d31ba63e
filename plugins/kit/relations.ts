import type { RelationTerm } from '../../core/kernel/access.ts'

/**
 * Returns the usual ways to hold a relation: as the owner of the account, by a team's level from `atLeast` on, by the permission of
 * that action, and by the direct grants given.
 */
export const heldBy =
  (namespace: string) =>
  (action: string, atLeast: 'read' | 'write' | 'admin' | 'owner', direct: readonly string[] = []): readonly RelationTerm[] => [
    { by: 'owner' },
    { by: 'level', atLeast },
    { by: 'permission', namespace, action },
    ...direct.map((relation): RelationTerm => ({ by: 'direct', relation })),
  ]
