import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as bookkeeping } from './0005-bookkeeping.ts'
import { migration as indexes } from './0019-indexes.ts'
import { migration as instances } from './0023-instances.ts'
import { migration as instanceKeys } from './0070-instance-keys.ts'

export const kernelMigrations: PartMigrations = {
  part: 'kernel',
  needs: ['bus', 'identity', 'mail', 'organizations'],
  migrations: [bookkeeping, indexes, instances, instanceKeys],
}
