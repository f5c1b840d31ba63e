// The types of knex can be extended only in its own namespace, with its own type parameters.
/* eslint-disable no-restricted-syntax, @typescript-eslint/no-explicit-any, @typescript-eslint/no-unused-vars */
import type { Knex as Builder } from 'knex'
import type { Family, NamedFamilies } from '../kit/columns.ts'
import type { Slot } from '../kit/statement.ts'

/** The tables by part: each file of tables adds its own here, so that a parameter beside one of its columns is checked. */
export interface DeclaredTables {}

type Parts = DeclaredTables
type Pairs = { [P in keyof Parts]: { [T in keyof Parts[P]]: NamedFamilies<Parts[P][T]> }[keyof Parts[P]] }[keyof Parts]
type Families = { [Pair in Pairs as Pair[0]]: Pair[1] }

type Unqualified<C extends string> = C extends `${string}.${infer Name}` ? Name : C
/** The families of the columns of this name, in any table. A name that is known only at run time takes any value. */
export type BoundFamily<C extends string> = string extends C
  ? Family
  : Unqualified<C> extends infer N
    ? N extends keyof Families
      ? Families[N]
      : string extends N
        ? Family
        : never
    : never

/** The type of a query in which a parameter is bound to a column of another family: nothing can be done with it. */
export interface Refused {
  readonly refused: 'A parameter is not of the family of its column, or no table has the column.'
}

// knex takes a parameter in these places only, and beside a column only if it is of the family of that column.
declare module 'knex' {
  namespace Knex {
    interface Where<TRecord extends {} = any, TResult = unknown> {
      <C extends string>(column: C, value: Slot<NoInfer<BoundFamily<C>>>): Builder.QueryBuilder<TRecord, TResult>
      <C extends string>(
        column: C,
        operator: string,
        value: Slot<NoInfer<BoundFamily<C>>>,
      ): Builder.QueryBuilder<TRecord, TResult>
      // Other forms of knex would take any value.
      (column: string, value: Slot): Refused
      (column: string, operator: string, value: Slot): Refused
    }
    interface WhereIn<TRecord extends {} = any, TResult = unknown[]> {
      <C extends string>(
        column: C,
        values: readonly Slot<NoInfer<BoundFamily<C>>>[],
      ): Builder.QueryBuilder<TRecord, TResult>
      (column: string, values: readonly Slot[]): Refused
    }
    interface WhereBetween<TRecord extends {} = any, TResult = unknown[]> {
      <C extends string>(
        column: C,
        range: readonly [Slot<NoInfer<BoundFamily<C>>>, Slot<NoInfer<BoundFamily<C>>>],
      ): Builder.QueryBuilder<TRecord, TResult>
    }
    interface JoinClause {
      onVal<C extends string>(column: C, value: Slot<NoInfer<BoundFamily<C>>>): Builder.JoinClause
      onVal<C extends string>(column: C, operator: string, value: Slot<NoInfer<BoundFamily<C>>>): Builder.JoinClause
      andOnVal<C extends string>(column: C, value: Slot<NoInfer<BoundFamily<C>>>): Builder.JoinClause
    }
    interface QueryInterface<TRecord extends {} = any, TResult = any> {
      limit(limit: Slot<'integer'>): Builder.QueryBuilder<TRecord, TResult>
      offset(offset: Slot<'integer'>): Builder.QueryBuilder<TRecord, TResult>
    }
    interface RawBuilder<TRecord extends {} = any, TResult = any> {
      <TResult2 = TResult>(sql: string, bindings: readonly (Builder.RawBinding | Slot)[]): Builder.Raw<TResult2>
    }
    interface RawQueryBuilder<TRecord extends {} = any, TResult = unknown[]> {
      (sql: string, bindings: readonly (Builder.RawBinding | Slot)[]): Builder.QueryBuilder<TRecord, TResult>
    }
  }
}
