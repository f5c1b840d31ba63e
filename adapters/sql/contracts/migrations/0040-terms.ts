import { asciiText, createTable, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

/**
 * A row of `contracts` has the newest version of the terms, so that the release before this one reads and writes it as
 * ever.
 */
export const migration: Migration = {
  id: '0040-contracts-terms',
  summary:
    'contracts: versions of the terms with the time in which they are in force, trials, and reminders of one end',
  async up(knex, dialect) {
    await knex.schema.alterTable('contracts', (table) => {
      table.integer('terms_number').notNullable().defaultTo(1)
      // Of the newest version. 0: from the beginning of the contract.
      instant(table, 'terms_from').notNullable().defaultTo(0)
      instant(table, 'terms_recorded_at').notNullable().defaultTo(0)
      table.string('terms_recorded_by', 254).notNullable().defaultTo('')
      table.boolean('allows_trials').notNullable().defaultTo(false)
      table.integer('max_trials').notNullable().defaultTo(0)
      // The end of which the owner was reminded: another end needs other reminders.
      instant(table, 'reminded_ends_at').nullable()
      table.index(['terms_from'])
    })
    // What contracts allowed until now stays allowed, so that no past figure changes.
    await knex('contracts').update({
      allows_trials: true,
      max_trials: 1_000_000,
      terms_recorded_at: knex.ref('created_at'),
    })
    await knex('contracts')
      .where((each) => each.whereNotNull('reminded_45_at').orWhereNotNull('reminded_10_at'))
      .update({ reminded_ends_at: knex.ref('ends_at') })
    // The versions before the newest one, and those that a change of the past has replaced.
    await createTable(knex, dialect, 'contract_terms', (table) => {
      rowId(table, dialect)
      table.bigInteger('contract_id').notNullable().unsigned().references('contracts.id').onDelete('CASCADE')
      table.integer('number').notNullable()
      instant(table, 'from_at').notNullable()
      // Null if it was the newest version when it was replaced.
      instant(table, 'to_at').nullable()
      asciiText(table, dialect, 'product', 64).notNullable()
      table.text('features').notNullable()
      table.text('quota').notNullable()
      table.text('restrictions').notNullable()
      instant(table, 'starts_at').notNullable()
      instant(table, 'ends_at').notNullable()
      table.boolean('allows_offline').notNullable()
      table.boolean('allows_trials').notNullable()
      table.integer('max_trials').notNullable()
      table.boolean('disables_analytics').notNullable()
      table.boolean('enables_client_billing').notNullable()
      instant(table, 'recorded_at').notNullable()
      table.string('recorded_by', 254).notNullable()
      instant(table, 'superseded_at').nullable()
      table.unique(['contract_id', 'number'])
      table.index(['contract_id', 'from_at'])
    })
    await knex.schema.alterTable('contract_events', (table) => {
      // Of an event that changed the terms: the version, and from when on it is in force.
      table.integer('terms_number').nullable()
      instant(table, 'effective_from').nullable()
    })
  },
}
