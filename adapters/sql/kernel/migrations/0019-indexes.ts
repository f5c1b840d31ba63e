import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0019-kernel-indexes',
  summary:
    'indexes for what was found or removed by reading whole tables; room for the claims of a bus account ' +
    'with many revocations',
  async up(knex, dialect) {
    // The tokens that are confined to an organization, which go with it.
    await knex.schema.alterTable('access_tokens', (table) => void table.index(['only_org_id']))
    // The site admins are locked together: without it MariaDB would wait for the row of every user.
    await knex.schema.alterTable('users', (table) => void table.index(['is_admin']))
    // SQLite makes no index for a foreign key, and looks for rows that refer to each one it removes.
    await knex.schema.alterTable('org_invitations', (table) => void table.index(['inviter_id']))
    await knex.schema.alterTable('org_invitation_teams', (table) => void table.index(['team_id']))
    await knex.schema.alterTable('mail_outbox', (table) => void table.index(['account_id']))
    if (dialect === 'mysql') {
      await knex.schema.alterTable(
        'bus_identities',
        (table) => void table.text('claims', 'mediumtext').notNullable().alter(),
      )
    }
  },
}
