# Short names for the scripts; nothing here that a script does not do.
.DEFAULT_GOAL := help
.PHONY: help golden setup check test long attack coverage bench sample shots tidy release

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what the tests need, where missing: C compiler, Redis, Valkey (Debian)
	@scripts/setup servers

check: ## Format, vet, staticcheck, import rules, short tests: before every commit
	@scripts/check

test: ## All tests as CI runs them; installs what they need, real servers included
	@scripts/test

golden: ## Write anew what is generated, and the golden files; then look at the diff
	@go generate ./algorithm ./internal/oracle ./store/script/...
	@go test ./internal/architecture -update
	@cd api && go test . -update
	@go test ./observe/prometheus -run '^TestReferenceListsEachMetric$$' -update
	@go test ./conformance -run 'TestCoverageTablesAreCurrent|TestFirstFailure|TestEachBrokenStore' -update

long: ## The acceptance counts: 10,000 checks a property, all fuzz targets (hours)
	@scripts/long

attack: ## Harm real servers under load and account for every unit (10 minutes); or ARGS="--event freeze"
	@go run ./internal/attack/cmd $(ARGS)

coverage: ## Statement coverage of the core, at least 95 %
	@scripts/coverage

bench: ## weir beside floors and other limiters, as ratios (15 minutes); or ARGS=-quick
	@scripts/bench $(ARGS)

sample: ## Replay the sample access log
	@go run ./cmd/weir replay --limit gcra:30/1m examples/accesslog/access.log

release: ## Binaries, Debian packages, bills of materials and checksums of this commit, in bin/release
	@scripts/release

shots: ## Look at the HTML reports in Chromium, renew the pictures of the docs; or TO=folder
	@scripts/shots $(TO)

tidy: ## go mod tidy in every module
	@for m in . api cmd/weir bench bench/ratelimit bench/envoyproxy service adapter/* observe/* tools; do (cd $$m && GOWORK=off go mod tidy) || exit 1; done
