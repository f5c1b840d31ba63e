// Calls the service with the client that oapi-codegen generates.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"

	api "generated-clients/oapi"
)

var ctx = context.Background()

func say(call string, result any) { fmt.Printf("%s: %v\n", call, result) }

// must returns the answer, or ends the program with what was received instead of it.
func must[A any](answer *A, body []byte, err error) A {
	if err != nil {
		panic(err)
	}
	if answer == nil {
		panic(string(body))
	}
	return *answer
}

func check[A any](answer A, err error) A {
	if err != nil {
		panic(err)
	}
	return answer
}

func sayError(call string, status int, failure *api.Error) {
	if failure == nil || failure.Code == nil {
		panic(call)
	}
	say(call, fmt.Sprintf("%d %s %t", status, *failure.Code, failure.Message != ""))
}

func clientWith(edit api.RequestEditorFn) *api.ClientWithResponses {
	return check(api.NewClientWithResponses(os.Getenv("MOORAGE_URL"), api.WithRequestEditorFn(edit)))
}

func main() {
	login, organization := os.Getenv("MOORAGE_LOGIN"), os.Getenv("MOORAGE_NAME")
	asUser := clientWith(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "token "+os.Getenv("MOORAGE_TOKEN"))
		return nil
	})
	withPassword := clientWith(func(_ context.Context, request *http.Request) error {
		request.SetBasicAuth(login, os.Getenv("MOORAGE_PASSWORD"))
		return nil
	})
	readOnly(asUser)
	first, second := "First", "Second"
	created, err := asUser.OrganizationsCreateOrganizationWithResponse(ctx, nil, api.CreateOrgOption{Username: organization, FullName: &first})
	say("create organization", must(created.JSON201, created.Body, err).FullName)
	edited, err := asUser.OrganizationsEditOrganizationWithResponse(ctx, organization, nil, api.EditOrgOption{FullName: &second})
	say("edit organization", must(edited.JSON200, edited.Body, err).FullName)
	found, err := asUser.OrganizationsGetOrganizationWithResponse(ctx, organization, nil)
	say("get organization", must(found.JSON200, found.Body, err).FullName)
	teamCalls(asUser, organization)
	tokenCalls(withPassword, login, organization)
	roles, err := asUser.AuthzListRolesWithResponse(ctx, &api.AuthzListRolesParams{Org: organization})
	say("roles", len(must(roles.JSON200, roles.Body, err)))
	settings, err := asUser.PlatformGetApiSettingsWithResponse(ctx, nil)
	say("settings", must(settings.JSON200, settings.Body, err).MaxResponseItems)
	again := check(asUser.OrganizationsCreateOrganizationWithResponse(ctx, nil, api.CreateOrgOption{Username: organization}))
	sayError("name in use", again.StatusCode(), again.JSON422)
	say("delete organization", check(asUser.OrganizationsDeleteOrganizationWithResponse(ctx, organization, nil)).StatusCode())
	gone := check(asUser.OrganizationsGetOrganizationWithResponse(ctx, organization, nil))
	sayError("deleted organization", gone.StatusCode(), gone.JSON404)
}

func readOnly(client *api.ClientWithResponses) {
	version, err := client.PlatformGetVersionWithResponse(ctx, nil)
	say("version", must(version.JSON200, version.Body, err).Version)
	own, err := client.IdentityGetCallerWithResponse(ctx, nil)
	say("own user", must(own.JSON200, own.Body, err).Login)
	page, limit := 2, 1
	users, err := client.IdentitySearchUsersWithResponse(ctx, &api.IdentitySearchUsersParams{Page: &page, Limit: &limit})
	say("users", fmt.Sprintf("%d of %s", len(must(users.JSON200, users.Body, err).Data), users.HTTPResponse.Header.Get("X-Total-Count")))
}

func teamCalls(client *api.ClientWithResponses, organization string) {
	level := api.CreateTeamOptionPermission("write")
	made, err := client.OrganizationsCreateTeamWithResponse(ctx, organization, nil, api.CreateTeamOption{Name: "deployers", Permission: &level})
	team := must(made.JSON201, made.Body, err)
	say("create team", team.Name)
	listed, err := client.OrganizationsListTeamsWithResponse(ctx, organization, nil)
	var names []string
	for _, each := range must(listed.JSON200, listed.Body, err) {
		names = append(names, each.Name)
	}
	sort.Strings(names)
	say("teams", strings.Join(names, ", "))
	say("add member", check(client.OrganizationsAddTeamMemberWithResponse(ctx, team.Id, "ada", nil)).StatusCode())
	members, err := client.OrganizationsListTeamMembersWithResponse(ctx, team.Id, nil)
	var logins []string
	for _, each := range must(members.JSON200, members.Body, err) {
		logins = append(logins, each.Login)
	}
	say("members", strings.Join(logins, ", "))
}

func tokenCalls(client *api.ClientWithResponses, login, name string) {
	made, err := client.IdentityCreateTokenWithResponse(ctx, login, nil, api.CreateAccessTokenOption{Name: name, Scopes: &[]string{"all"}})
	token := must(made.JSON201, made.Body, err)
	say("create token", fmt.Sprintf("%s %t", token.Name, token.Sha1 != ""))
	listed, err := client.IdentityListTokensWithResponse(ctx, login, nil)
	isListed := false
	for _, each := range must(listed.JSON200, listed.Body, err) {
		isListed = isListed || each.Id == token.Id
	}
	say("tokens", isListed)
	deleted := check(client.IdentityDeleteTokenWithResponse(ctx, login, strconv.FormatInt(token.Id, 10), nil))
	say("delete token", deleted.StatusCode())
}
