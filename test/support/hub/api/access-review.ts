import type { KubeClient } from './kube-client.ts'

/** The user of a request, as the API server names it. */
export interface RequestUser {
  readonly username: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export interface ResourceAttributes {
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly verb: string
  readonly name: string
}

/** Asks the API server whether a user has a right: a SubjectAccessReview. */
export const mayAct = async (
  client: KubeClient,
  { username, uid, groups, extra }: RequestUser,
  resourceAttributes: ResourceAttributes,
): Promise<boolean> => {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: username, uid, groups, extra, resourceAttributes },
  }
  return (
    await client.call<{ readonly status: { readonly allowed: boolean } }>(
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      review,
    )
  ).status.allowed
}
