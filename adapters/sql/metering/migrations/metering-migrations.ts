import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as calls } from './0060-calls.ts'
import { migration as hours } from './0061-hours.ts'

export const meteringMigrations: PartMigrations = {
  part: 'metering',
  needs: [],
  migrations: [calls, hours],
}
