import type { PartMigrations } from '../../migrations/migration.ts'
import { migration as contracts } from './0029-contracts.ts'
import { migration as documents } from './0030-documents.ts'
import { migration as terms } from './0040-terms.ts'

export const contractsMigrations: PartMigrations = {
  part: 'contracts',
  needs: ['identity'],
  migrations: [contracts, documents, terms],
}
