import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as tasks } from './0020-tasks.ts'
import { migration as responseIds } from './0027-response-ids.ts'

export const tasksMigrations: PartMigrations = {
  part: 'tasks',
  needs: ['identity'],
  migrations: [tasks, responseIds],
}
