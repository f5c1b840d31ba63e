import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/rating.ts'

const prices: Migration = {
  id: '0140-rating-prices',
  phase: 'expand',
  summary: 'rating: issuers of invoices, price books, pricings of contracts and billing details',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'rating_issuers', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'name', 63).notNullable().unique()
      table.text('party').notNullable()
      table.string('number_prefix', 20).notNullable()
      table.text('notes').notNullable()
      // Taken in the transaction that issues an invoice, so that numbers have no gaps.
      table.bigInteger('next_number').notNullable().defaultTo(1)
      instant(table, 'updated_at').notNullable()
    })
    await createTable(knex, dialect, 'rating_price_books', (table) => {
      rowId(table, dialect)
      table.string('name', 255).notNullable().unique()
      asciiText(table, dialect, 'currency', 3).notNullable()
      table.bigInteger('issuer_id').notNullable().unsigned().references('rating_issuers.id')
      table.integer('invoiced_to').nullable()
      instant(table, 'created_at').notNullable()
    })
    await createTable(knex, dialect, 'rating_price_versions', (table) => {
      table.bigInteger('book_id').notNullable().unsigned().references('rating_price_books.id')
      table.integer('number').notNullable()
      table.integer('from_month').notNullable()
      table.text('prices', 'mediumtext').notNullable()
      instant(table, 'created_at').notNullable()
      table.primary(['book_id', 'number'])
    })
    // What was billed outlives contracts and accounts, so these tables refer to neither.
    await createTable(knex, dialect, 'rating_contract_prices', (table) => {
      table.bigInteger('contract_id').notNullable().unsigned()
      table.integer('from_month').notNullable()
      table.bigInteger('book_id').notNullable().unsigned().references('rating_price_books.id')
      asciiText(table, dialect, 'discount_percent', 12).notNullable()
      asciiText(table, dialect, 'commitment', 24).nullable()
      instant(table, 'created_at').notNullable()
      table.primary(['contract_id', 'from_month'])
    })
    await createTable(knex, dialect, 'rating_customers', (table) => {
      table.bigInteger('owner_id').notNullable().unsigned().primary()
      table.text('details').notNullable()
      asciiText(table, dialect, 'limit_currency', 3).nullable()
      table.bigInteger('limit_amount').nullable()
      instant(table, 'updated_at').notNullable()
    })
    await createTable(knex, dialect, 'rating_spend_alerts', (table) => {
      table.bigInteger('owner_id').notNullable().unsigned()
      table.integer('month').notNullable()
      table.integer('threshold').notNullable()
      instant(table, 'sent_at').notNullable()
      table.primary(['owner_id', 'month', 'threshold'])
    })
  },
}

const invoices: Migration = {
  id: '0141-rating-invoices',
  phase: 'expand',
  summary: 'rating: invoices, credit notes and their lines',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'rating_invoices', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned()
      table.bigInteger('issuer_id').notNullable().unsigned().references('rating_issuers.id')
      asciiText(table, dialect, 'kind', 16).notNullable()
      asciiText(table, dialect, 'state', 8).notNullable()
      table.integer('month').notNullable()
      table.integer('revision').notNullable()
      asciiText(table, dialect, 'currency', 3).notNullable()
      table.bigInteger('sequence').nullable()
      table.string('number', 64).nullable()
      table.bigInteger('corrects_id').nullable().unsigned()
      // Minor units of the currency.
      table.bigInteger('net').notNullable()
      table.bigInteger('tax').notNullable().defaultTo(0)
      table.text('terms').nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'issued_at').nullable()
      instant(table, 'due_at').nullable()
      instant(table, 'sent_at').nullable()
      instant(table, 'paid_at').nullable()
      table.string('payment_reference', 255).notNullable().defaultTo('')
      instant(table, 'voided_at').nullable()
      table.string('void_reason', 1000).notNullable().defaultTo('')
      table.unique(['issuer_id', 'sequence'])
      table.index(['owner_id', 'month', 'id'])
      table.index(['month', 'id'])
    })
    await createTable(knex, dialect, 'rating_invoice_lines', (table) => {
      table.bigInteger('invoice_id').notNullable().unsigned().references('rating_invoices.id').onDelete('CASCADE')
      table.integer('line').notNullable()
      table.bigInteger('contract_id').notNullable().unsigned()
      table.bigInteger('book_id').notNullable().unsigned()
      table.text('details').notNullable()
      table.bigInteger('net').notNullable()
      table.primary(['invoice_id', 'line'])
      table.index(['contract_id'])
    })
    await createTable(knex, dialect, 'rating_months', (table) => {
      table.bigInteger('owner_id').notNullable().unsigned()
      table.integer('month').notNullable()
      table.integer('revision').notNullable()
      table.primary(['owner_id', 'month'])
    })
  },
}

const sinks: Migration = {
  id: '0150-rating-sinks',
  phase: 'expand',
  summary: 'rating: billing engines and the outbox of usage that is sent to them',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'rating_sinks', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'name', 63).notNullable().unique()
      asciiText(table, dialect, 'kind', 16).notNullable()
      table.text('address').notNullable()
      table.integer('from_month').notNullable()
      table.boolean('is_enabled').notNullable()
      // What the sealed key is bound to.
      asciiText(table, dialect, 'ref', 36).notNullable()
      longBytes(table, dialect, 'sealed_key').notNullable()
      instant(table, 'next_attempt_at').notNullable()
      table.integer('failures').notNullable().defaultTo(0)
      table.string('last_error', 500).notNullable().defaultTo('')
    })
    // What was sent outlives contracts and accounts, so these tables refer to neither.
    await createTable(knex, dialect, 'rating_sink_customers', (table) => {
      table.bigInteger('sink_id').notNullable().unsigned().references('rating_sinks.id')
      table.bigInteger('owner_id').notNullable().unsigned()
      table.string('external_id', 255).notNullable()
      table.primary(['sink_id', 'owner_id'])
    })
    await createTable(knex, dialect, 'rating_sink_months', (table) => {
      table.bigInteger('sink_id').notNullable().unsigned().references('rating_sinks.id')
      table.bigInteger('owner_id').notNullable().unsigned()
      table.integer('month').notNullable()
      table.integer('revision').notNullable()
      table.primary(['sink_id', 'month', 'owner_id'])
    })
    await createTable(knex, dialect, 'rating_sink_events', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 100).notNullable()
      table.bigInteger('sink_id').notNullable().unsigned().references('rating_sinks.id')
      table.bigInteger('owner_id').notNullable().unsigned()
      table.integer('month').notNullable()
      table.integer('revision').notNullable()
      table.bigInteger('contract_id').notNullable().unsigned()
      asciiText(table, dialect, 'product', 32).notNullable()
      asciiText(table, dialect, 'measure', 16).notNullable()
      asciiText(table, dialect, 'priced_use', 16).notNullable()
      table.bigInteger('thousandths').notNullable()
      instant(table, 'dated_at').notNullable()
      asciiText(table, dialect, 'state', 16).notNullable()
      table.string('reason', 500).notNullable().defaultTo('')
      instant(table, 'created_at').notNullable()
      instant(table, 'attempted_at').nullable()
      table.unique(['sink_id', 'ref'])
      table.index(['sink_id', 'state', 'id'])
      table.index(['sink_id', 'owner_id', 'month'])
    })
  },
}

export const ratingMigrations: PartMigrations = {
  part: 'rating',
  tables,
  needs: [],
  migrations: [prices, invoices, sinks],
}
