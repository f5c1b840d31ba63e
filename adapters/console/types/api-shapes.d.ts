import type { components, paths } from 'moorage-api'

/** What the scripts of the console know of the API: generated from its own description by the static checks. */
export type Schemas = components['schemas']
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The paths that have a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never
}[keyof paths]

type Operation<M extends Method, P extends keyof paths> = Extract<paths[P][M], { responses: unknown }>

type ParametersIn<O, Where extends string> = O extends { parameters: infer A }
  ? Where extends keyof A
    ? A[Where]
    : undefined
  : undefined
type Named<Key extends string, A> = undefined extends A
  ? { [key in Key]?: NonNullable<A> }
  : Record<never, never> extends A
    ? { [key in Key]?: A }
    : { [key in Key]: A }
type BodyOf<O> = O extends { requestBody: { content: { 'application/json': infer B } } }
  ? { body: B }
  : O extends { requestBody?: { content: { 'application/json': infer B } } }
    ? { body?: B }
    : { body?: undefined }

/** What a call needs: the parameters of the path and the query, and the body. */
export type Input<M extends Method, P extends keyof paths> = Named<'path', ParametersIn<Operation<M, P>, 'path'>> &
  Named<'query', ParametersIn<Operation<M, P>, 'query'>> &
  BodyOf<Operation<M, P>> & {
    /** The ETag of what is changed, as it was read. */
    ifMatch?: string | undefined
    /** Sent again with the same key, a change happens once. */
    idempotencyKey?: string
    signal?: AbortSignal
  }

type Success = 200 | 201 | 202 | 204
type Content<R> = R extends { content: { 'application/json': infer B } } ? B : undefined
type Answered<O> = O extends { responses: infer R }
  ? { [S in keyof R & Success]: Content<R[S]> }[keyof R & Success]
  : never

/** The value that a call returns. */
export type Output<M extends Method, P extends keyof paths> = Answered<Operation<M, P>>

/** An answer, with what its headers say. */
export interface Answer<T> {
  data: T
  /** For `ifMatch` of a later change. */
  etag: string | undefined
  /** How many items the whole list has, if it is a list. */
  total: number | undefined
  /** The query of the next page of a list, if there is one. */
  next: string | undefined
}

export interface Screen {
  /** Words of the address, with `:name` for a value. `:owner` is the account that the navigation shows. */
  path: string
  /** Where the navigation shows it; absent for a screen that others link to. */
  nav?: { group: NavGroup; label: string; order: number; icon: IconName }
  /** To whom the navigation shows it. The API decides what a caller may do. */
  isFor?: 'anyone' | 'organization' | 'site-admin'
  /** The kinds of deployments that have it; all of them if absent. */
  deployments?: 'vendor-or-marketplace' | 'any-marketplace'
  load(): Promise<{ screen: (props: ScreenProps) => unknown }>
}

export type NavGroup = 'home' | 'work' | 'organization' | 'billing' | 'vendor' | 'site'

export interface ScreenProps {
  params: Record<string, string>
  query: URLSearchParams
  session: SessionFacts
}

export interface AccountFacts {
  id: number
  name: string
  title: string
  isOrganization: boolean
}

export interface SessionFacts {
  user: Schemas['User']
  isSiteAdmin: boolean
  /** The caller's own account first, then the organizations. */
  accounts: AccountFacts[]
  branding: Schemas['Branding'] | undefined
}

export type IconName = import('../site/kit/icons.js').IconName
