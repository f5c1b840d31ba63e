import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as outbox } from './0010-outbox.ts'

export const mailMigrations: PartMigrations = {
  part: 'mail',
  needs: ['identity'],
  migrations: [outbox],
}
