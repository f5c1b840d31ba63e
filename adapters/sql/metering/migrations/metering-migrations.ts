import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as calls } from './0060-calls.ts'

export const meteringMigrations: PartMigrations = {
  part: 'metering',
  needs: [],
  migrations: [calls],
}
