#include "allreduce_lab/rendezvous.hpp"

#include "common/output.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/redis_store.h>
#include <sys/stat.h>

namespace allreduce_lab {

using bench::UsageError;

class Rendezvous::Redis : public gloo::rendezvous::RedisStore {
  public:
    Redis(const std::string& host, int port) : RedisStore(host, port) {
        const char* const password = std::getenv("REDISCLI_AUTH"); // as redis-cli takes it
        if (password != nullptr) {
            freeReplyObject(redisCommand(redis_, "AUTH %s", password));
        }
    }

    void set(const std::string& key, const std::vector<char>& data) override {
        RedisStore::set(key, data);
        keys_.push_back(key);
    }

    void take_back() {
        for (const std::string& key : keys_) {
            freeReplyObject(redisCommand(redis_, "DEL %b", key.data(), key.size()));
        }
    }

  private:
    std::vector<std::string> keys_;
};

class Rendezvous::Folder : public gloo::rendezvous::FileStore {
  public:
    using FileStore::FileStore;

    void take_back() {
        std::error_code ignored;
        for (const std::string& path : keyFilePaths_) {
            std::filesystem::remove(path, ignored);
        }
    }
};

Rendezvous::Rendezvous(const Options& options)
    : prefix_(options.prefix), timeout_(static_cast<std::int64_t>(options.timeout * 1000)) {
    if (!options.shared_path.empty()) {
        place_ = "the folder " + options.shared_path;
        const std::string reason =
            bench::why_not_writable(options.shared_path + "/" + prefix_ + ".key");
        if (!reason.empty()) {
            throw UsageError("option --shared-path: no rank can meet there: " + reason);
        }
        folder_ = std::make_shared<Folder>(options.shared_path);
        store_ = folder_.get();
        return;
    }
    place_ = "Redis at " + options.redis_host + ":" + std::to_string(options.redis_port);
    try {
        redis_ = std::make_shared<Redis>(options.redis_host, options.redis_port);
    } catch (const std::exception&) {
        throw UsageError("no answer from " + place_ + ": start redis-server --port " +
                         std::to_string(options.redis_port) +
                         " there, correct --redis-host and --redis-port, or use --shared-path");
    }
    store_ = redis_.get();
}

Rendezvous::~Rendezvous() {
    if (redis_ != nullptr) {
        redis_->take_back();
    }
    if (folder_ != nullptr) {
        folder_->take_back();
    }
}

// gloo tells what is wrong by the words of an exception alone.
template <class Ask>
auto Rendezvous::ask(Ask question) {
    try {
        return question();
    } catch (const std::exception& error) {
        const std::string words = error.what();
        if (words.find("already") != std::string::npos) {
            throw UsageError("the keys \"" + prefix_ + "/...\" are in " + place_ +
                             " already: an earlier run left them, or this rank was started twice; "
                             "give each run a --prefix of its own");
        }
        if (words.find("NOAUTH") != std::string::npos) {
            throw UsageError(place_ + " wants a password, and REDISCLI_AUTH has none or another: "
                                      "give its own there");
        }
        if (words.find("Wait timeout") != std::string::npos) {
            throw UsageError("a rank did not come to \"" + prefix_ + "\" in " + place_ +
                             " in time (--timeout): start all ranks with the same --prefix");
        }
        throw UsageError(place_ + " is lost or cannot be used: " + words);
    }
}

void Rendezvous::set(const std::string& key, const std::vector<char>& data) {
    const mode_t before =
        umask(S_IRWXG | S_IRWXO); // whoever reads the run's word could speak as a rank
    ask([&] { store_->set(full(key), data); });
    (void)umask(before);
}

std::vector<char> Rendezvous::get(const std::string& key) {
    return ask([&] { return store_->get(full(key)); });
}

void Rendezvous::wait(const std::vector<std::string>& keys) {
    wait(keys, timeout_);
}

void Rendezvous::wait(const std::vector<std::string>& keys, const Milliseconds& timeout) {
    std::vector<std::string> complete;
    complete.reserve(keys.size());
    for (const std::string& key : keys) {
        complete.push_back(full(key));
    }
    ask([&] { store_->wait(complete, std::min(timeout, timeout_)); });
}

} // namespace allreduce_lab
