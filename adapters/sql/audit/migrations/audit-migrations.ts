import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as events } from './0004-events.ts'
import { migration as retention } from './0017-retention.ts'

export const auditMigrations: PartMigrations = {
  part: 'audit',
  needs: [],
  migrations: [events, retention],
}
